/**
 * All crews of this computer, by user and team; found again after a restart. A lookup for a user returns only that user's crews.
 * Must not know HTTP, tickets or uploads.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Member } from '../agents/member.ts';
import { type Crew, type CrewDeps, type CrewPlace, createCrew } from './crew.ts';
import { readGuests, saveGuest } from './store.ts';

export interface Crews {
  start(): Promise<void>;
  /** Where a crew works, whether it is there or not. */
  placeOf(user: string, team: string): CrewPlace;
  of(user: string): Crew[];
  all(): Crew[];
  find(user: string, team: string): Crew | null;
  /** By `bot@team`, only among the user's own. */
  member(user: string, address: string): { crew: Crew; member: Member } | null;
  ensure(user: string, team: string): Promise<Crew>;
  /** The crew that an agent belongs to; null for a bot of this computer. */
  ofAgent(agentId: string): Crew | null;
  stopAll(): Promise<void>;
  /** A bot of the user's changed in a way that its registry does not report. */
  touch(user: string): void;
  /** Told when a bot of the user's changed. */
  onChange(listener: (user: string) => void): () => void;
  close(): void;
}

export function createCrews(deps: CrewDeps): Crews {
  const crews = new Map<string, Crew>();
  /** Crews being started: later callers wait for the same one. */
  const starting = new Map<string, Promise<Crew>>();
  const listeners = new Set<(user: string) => void>();
  const keyOf = (user: string, team: string) => JSON.stringify([user, team]);

  const begin = async (place: CrewPlace): Promise<Crew> => {
    const crew = createCrew(deps, place);
    await crew.start();
    crews.set(keyOf(place.user, place.team), crew);
    crew.registry.onState(() => touch(place.user));
    return crew;
  };
  const touch = (user: string) => {
    for (const listener of listeners) listener(user);
  };
  const placeOf: Crews['placeOf'] = (user, team) => ({
    user,
    team,
    root: join(deps.home, 'peers', folderOf(user), team),
  });
  const find: Crews['find'] = (user, team) => crews.get(keyOf(user, team)) ?? null;

  return {
    async start() {
      for (const place of await deps.store.read((tx) => readGuests(tx))) {
        await begin(place).catch((error: unknown) => {
          deps.log.warn('A team of another computer could not be restored.', { ...place, error: String(error) });
        });
      }
    },
    placeOf,
    all: () => [...crews.values()],
    of: (user) => [...crews.values()].filter((crew) => crew.user === user),
    find,
    member(user, address) {
      const crew = find(user, address.slice(address.indexOf('@') + 1));
      const member = crew?.registry.find(address) ?? null;
      return crew === null || member === null ? null : { crew, member };
    },
    async ensure(user, team) {
      const key = keyOf(user, team);
      const known = crews.get(key);
      if (known !== undefined) return known;
      const place = placeOf(user, team);
      const mine =
        starting.get(key) ??
        (async () => {
          await deps.store.write((tx) => saveGuest(tx, place, deps.clock.now()));
          return begin(place);
        })();
      starting.set(key, mine);
      try {
        return await mine;
      } finally {
        starting.delete(key);
      }
    },
    ofAgent(agentId) {
      for (const crew of crews.values()) if (crew.registry.find(agentId)?.id === agentId) return crew;
      return null;
    },
    async stopAll() {
      const by = { actor: 'engine', surface: 'engine' };
      await Promise.all([...crews.values()].map((crew) => crew.teams.down(crew.team, by)));
    },
    touch,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      for (const crew of crews.values()) crew.close();
    },
  };
}

/** A user's id as a folder: itself where it is one everywhere, else its hash. */
function folderOf(user: string): string {
  if (/^[A-Za-z0-9_-]{1,80}$/.test(user)) return user;
  return `u-${createHash('sha256').update(user).digest('hex').slice(0, 32)}`;
}
