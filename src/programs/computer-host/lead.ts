/**
 * Joins a connection of the cloud to the socket of the computer that its first line names, bytes for bytes. First user: a computer host that joined a
 * cloud on another machine. Must not know what the bytes are.
 */
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { readFirstLine } from '../../kit/link/first-line.ts';
import type { Host } from './host.ts';

/** Closes a connection that names no computer that runs here. */
export async function leadToComputer(host: Pick<Host, 'list'>, connection: Duplex): Promise<void> {
  connection.on('error', () => {});
  const first = await readFirstLine(connection, 80);
  const socket = host.list().find(({ computer }) => computer === first?.line)?.channel?.socket;
  if (first === null || socket === undefined) return void connection.destroy();
  const inside = connect(socket);
  inside.on('error', () => connection.destroy());
  inside.once('close', () => connection.destroy());
  connection.once('close', () => inside.destroy());
  inside.write(first.rest);
  connection.pipe(inside).pipe(connection);
}
