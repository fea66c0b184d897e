/**
 * Hosted bots in the registry: they live while their team is up, and follow their team file. Changes entries; must not know teams' rows,
 * panes or what a hosted bot does.
 */
import type { HarnessBot } from './harness/harness.ts';
import { type HostedBot, type HostedSpec, hostedSpec } from './hosted/index.ts';
import { addressOf, type Shown } from './model.ts';
import type { ResolvedBot, ResolvedTeam } from './team-file/resolve.ts';

/** What of an agent's entry this needs. */
export interface HostingEntry {
  id: string;
  address: string;
  definition: ResolvedBot | null;
  panes: string[];
  live: boolean;
  shown: Shown;
  /** It is live in Gantry's own loop. */
  hosted: boolean;
  bot: HarnessBot | null;
  hostedBot: HostedBot | null;
  release: () => void;
}

export interface Hosting<Entry> {
  /** Brings hosted bots in line with what the files say now and which teams are up. */
  follow(teams: readonly ResolvedTeam[], isUp: (team: string) => boolean): void;
  end(entry: Entry, reason: string): void;
}

export interface HostingDeps<Entry> {
  attach(spec: HostedSpec): HostedBot;
  find(address: string): Entry | null;
  all(): Iterable<Entry>;
  show(entry: Entry, shown: Shown): void;
  openGate(entry: Entry): void;
  now(): number;
}

export function createHosting<Entry extends HostingEntry>(deps: HostingDeps<Entry>): Hosting<Entry> {
  const begin = (entry: Entry, team: ResolvedTeam, bot: ResolvedBot) => {
    const spec = hostedSpec(entry.id, entry.address, team, bot);
    if (entry.hostedBot !== null) {
      entry.hostedBot.update(spec);
      return;
    }
    const hosted = deps.attach(spec);
    entry.live = true;
    entry.hosted = true;
    entry.bot = hosted;
    entry.hostedBot = hosted;
    const offState = hosted.onState((state) => deps.show(entry, state));
    const offGate = hosted.onGate(() => deps.openGate(entry));
    entry.release = () => {
      offState();
      offGate();
      hosted.close();
      entry.bot = null;
      entry.hostedBot = null;
      entry.release = () => {};
    };
    deps.show(entry, hosted.state());
    deps.openGate(entry);
  };

  const end = (entry: Entry, reason: string) => {
    entry.release();
    entry.live = false;
    entry.hosted = false;
    deps.show(entry, { state: 'offline', reason, since: deps.now() });
  };

  return {
    follow(teams, isUp) {
      for (const team of teams) {
        for (const bot of team.bots) {
          const entry = deps.find(addressOf(bot.slug, team.name));
          // One that still runs in a terminal goes on there until its team is stopped.
          if (entry === null || bot.binding.type !== 'hosted' || (entry.live && !entry.hosted)) continue;
          if (isUp(team.name)) begin(entry, team, bot);
          else if (entry.hosted) end(entry, 'its team was stopped');
        }
      }
      for (const entry of deps.all()) {
        if (entry.hosted && entry.definition?.binding.type !== 'hosted') end(entry, 'its team file has it no more');
        // A bot that was hosted when Gantry ended has no pane that would tell of its end.
        else if (!entry.live && entry.shown.state !== 'offline' && entry.panes.length === 0) {
          end(entry, 'its team is not up');
        }
      }
    },
    end,
  };
}
