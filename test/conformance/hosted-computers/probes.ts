/** Addresses of the world around a machine that a computer may reach, and those that it may not. */

import { inside } from '../../../src/programs/computer-init/protocol.ts';
import { world } from '../../support/computers/world.ts';
import type { Attempts, DriverSubject } from './subject.ts';

export const to = (host: string, port = 8080) => ({ do: 'tcp', host, port }) as const;

export const reachable = { 'public IPv4': to(world.public4), 'public IPv6': to(world.public6) } satisfies Attempts;

export const forbidden = {
  'private 10.0.0.0/8': to('10.9.9.9'),
  'private 172.16.0.0/12': to('172.16.5.5'),
  'private 192.168.0.0/16': to('192.168.77.7'),
  'shared 100.64.0.0/10': to('100.64.7.7'),
  'link-local and metadata': to('169.254.169.254'),
  'unique local fc00::/7': to('fd00:9::9'),
  'mail, port 25': to(world.public4, 25),
} satisfies Attempts;

/** A cloud on this machine is behind each of these. */
export const ofTheMachine = {
  'the machine': to(world.uplink4),
  'the machine over IPv6': to(world.uplink6),
  'the machine, its second address': to(world.second4),
  'the machine, a public address on its loopback': to(world.own4),
} satisfies Attempts;

const program = `const { readdirSync, rmSync } = require('node:fs');
const code = (work) => { try { work(); return 'done'; } catch (error) { return error.code; } };
const socket = '${inside.channel}/engine.sock';
const done = (connects) => {
  const [lists, replaces] = [code(() => readdirSync('${inside.channel}')), code(() => rmSync(socket))];
  console.log(JSON.stringify({ user: process.getuid() !== 0, connects, lists, replaces }));
  process.exit();
};
require('node:net').connect(socket, () => done('open')).on('error', ({ code }) => done(code));`;

/** What comes of it when a program of the computer tries to reach what Gantry's own program dials on: `open`, `done`, or why not. */
export function triesAtSocket(subject: Pick<DriverSubject, 'inside'>, computer: string) {
  return JSON.parse(subject.inside(computer, ['node', '-e', program])) as {
    readonly user: boolean;
    readonly connects: string;
    readonly lists: string;
    readonly replaces: string;
  };
}
