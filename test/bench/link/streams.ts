/**
 * Very many event streams over three replicas of a cloud on PostgreSQL: what one costs its replica in memory, and what one event to all of them costs in
 * CPU. Who reads is another program, as in `factory.streams`.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { createCaller } from '../../support/bench/http.ts';
import { rounded } from '../../support/bench/numbers.ts';
import { cpuMs, maxFiles, pssMb } from '../../support/bench/processes.ts';
import type { FromReaders, ToReaders } from '../../support/bench/stream-readers.ts';
import { startReplicas } from '../../support/replicas.ts';
import { personAt } from '../../support/signed-in.ts';

export const figures: readonly Figure[] = [{ name: 'cloud.streams', run: streams }];

const replicaCount = 3;
const streamsOfReplica = { quick: 500, full: 5_000 };
const streamsOfPerson = 60;
const events = 10;
const otherFiles = 500;
const program = new URL('../../support/bench/stream-readers.ts', import.meta.url);

async function streams({ quick, log }: FigureOptions): Promise<Measured> {
  const each = streamsOfReplica[quick ? 'quick' : 'full'];
  const unit = 'kB PSS of a replica a stream';
  const at = `GET /beta/work/events of ${Math.ceil(each / streamsOfPerson)} people at ${replicaCount} replicas on PostgreSQL, ${each} streams at each, opened past the balancer; memory at the end, after ${events} events to all`;
  if (maxFiles() < each + otherFiles) {
    return {
      value: null,
      unit,
      n: each * replicaCount,
      at,
      why: `A program may open ${maxFiles()} files here (ulimit -Hn).`,
    };
  }
  const cloud = await startReplicas(replicaCount);
  const readers: ChildProcess[] = [];
  try {
    // One person may have 64 streams at a replica.
    const tokens: string[] = [];
    while (tokens.length < each / streamsOfPerson) {
      const person = await personAt(cloud.origin, `reader${tokens.length}`);
      const key = { name: 'streams', scopes: ['work'] };
      tokens.push((await person<{ secret: string }>('POST', '/api/v1/keys', key)).secret);
    }
    const callers = tokens.map((token) => createCaller(cloud.origin, token));
    const create = () => Promise.all(callers.map((caller) => caller.call('POST', '/beta/work', { payload: { n: 1 } })));
    await create();
    const pids = cloud.replicas.map((replica) => replica.pid() as number);
    const memory = () => pids.reduce((sum, pid) => sum + pssMb(pid), 0);
    const cpu = () => pids.reduce((sum, pid) => sum + cpuMs(pid), 0);
    const before = memory();
    for (const [index, port] of cloud.ports.entries()) {
      const reader = fork(program, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
      readers.push(reader);
      const { host } = new URL(cloud.origin);
      const open: ToReaders = {
        do: 'open',
        host: '127.0.0.1',
        port,
        named: host,
        from: `127.0.0.${index + 2}`,
        path: '/beta/work/events',
        token: tokens,
        streams: each,
      };
      await ask(reader, open, 'opened');
      log(`${each} streams at replica ${index + 1}: ${rounded(memory(), 0)} MB in all`);
    }
    const open = memory();
    const cpuBefore = cpu();
    for (let event = 0; event < events; event += 1) {
      const seen = readers.map((reader) => ask(reader, { do: 'events', count: event + 1 }, 'seen'));
      await create();
      await Promise.all(seen);
    }
    const used = cpu() - cpuBefore;
    const all = each * replicaCount;
    for (const caller of callers) caller.close();
    return {
      value: ((memory() - before) * 1000) / all,
      unit,
      n: all,
      at,
      detail: {
        beforeMb: rounded(before, 0),
        openKbAStream: rounded(((open - before) * 1000) / all, 1),
        cpuUsAStreamAndEvent: rounded((used * 1000) / (events * all), 1),
      },
    };
  } finally {
    for (const reader of readers) reader.kill();
    await cloud.close();
  }
}

async function ask(reader: ChildProcess, message: ToReaders, said: FromReaders['said']): Promise<void> {
  reader.send(message);
  const [answer] = (await once(reader, 'message')) as [FromReaders];
  if (answer.said !== said) throw new Error('why' in answer ? answer.why : `The readers said ${answer.said}.`);
}
