/**
 * Terminals in which a person signs an account in: the program's own sign-in, with the account's folder, in a pane of a team that no file names. It ends
 * with that program. Must not know what the program asks.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import { titleOf } from '../../../contracts/factory/agent.ts';
import type { Base } from '../../base/base.ts';
import { accountPlace } from '../../harness/accounts.ts';
import type { BotSpec, Harnesses } from '../../harness/harness.ts';
import { programs } from '../../harness/programs.ts';
import type { PaneEngine } from '../../panes/pane-engine.ts';
import { refuseUnreadable } from '../../panes/readable.ts';
import type { BotHomes } from '../bot-homes.ts';
import { addressOf } from '../model.ts';
import { labelsFor } from '../pane-labels.ts';
import type { Registry } from '../registry.ts';
import type { AccountRow, Accounts } from './accounts.ts';

/** The team of these terminals. */
const team = 'sign-in';

export interface SignIns {
  /** The terminal in which it is signed in now; null: there is none. */
  openFor(account: Pick<AccountRow, 'program' | 'name'>): { readonly agentId: string; readonly address: string } | null;
  /** What would run, or why nothing can. */
  commandOf(program: AccountRow['program']): Promise<string>;
  /** Opens it, unless it is open. */
  open(account: AccountRow): Promise<void>;
  end(account: AccountRow): Promise<void>;
}

export function createSignIns(
  deps: Pick<Base, 'ids'> & {
    readonly accounts: Pick<Accounts, 'folderOf'>;
    readonly registry: Pick<Registry, 'find' | 'add' | 'started' | 'stop'>;
    readonly harnesses: Pick<Harnesses, 'found' | 'prepare'>;
    readonly panes: PaneEngine;
    readonly homes: BotHomes;
    readonly workspace: string;
  },
): SignIns {
  const { registry } = deps;
  const liveOf = ({ program, name }: Pick<AccountRow, 'program' | 'name'>) => {
    const member = registry.find(addressOf(`${program}-${name}`, team));
    return member?.live === true ? member : null;
  };

  async function commandOf(program: AccountRow['program']): Promise<string> {
    const command = programs[program].signIn?.command;
    const found = (await deps.harnesses.found()).find(({ name }) => name === program);
    if (command === undefined || found?.installed === false) {
      const fact = found?.detail ?? `${titleOf(program)} has no sign-in.`;
      throw new AppError('usage', fact, found?.fix ?? 'Use another program.');
    }
    return command;
  }

  return {
    openFor(account) {
      const member = liveOf(account);
      return member === null ? null : { agentId: member.id, address: member.address };
    },
    commandOf,
    async open(account) {
      if (liveOf(account) !== null) return;
      const { program, name } = account;
      const place = accountPlace(program);
      const command = await commandOf(program);
      if (place === null) return;
      refuseUnreadable(deps.panes);
      const slug = `${program}-${name}`;
      const agentId = await registry.add(team, slug);
      const spec: BotSpec = {
        agentId,
        slug,
        team,
        harness: 'custom',
        model: null,
        command,
        cwd: deps.workspace,
        env: { [place.variable]: deps.accounts.folderOf(program, name) },
        culture: null,
        without: place.without,
      };
      const { without: _again, ...kept } = spec;
      const launch = await deps.harnesses.prepare(spec, await deps.homes.open(agentId));
      const id = deps.ids.next('pane');
      const pane = await deps.panes.create({
        id,
        command: launch.command,
        cwd: launch.cwd,
        env: { ...launch.env, GANTRY_PANE: id },
        cols: launch.cols,
        rows: launch.rows,
        labels: labelsFor(kept, deps.workspace, null),
      });
      await registry.started(agentId, kept, pane);
    },
    async end(account) {
      const member = liveOf(account);
      if (member !== null) await registry.stop(member.id);
    },
  };
}
