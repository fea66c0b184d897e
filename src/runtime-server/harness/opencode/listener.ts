/**
 * Whose program listens on a port of this computer: opencode's port was free when it was chosen, but another user's program may have taken it since,
 * and must get neither password nor messages. Works on Linux; elsewhere there is no check. Reads only.
 */
import { readFile } from 'node:fs/promises';

const listening = '0A';
/** Loopback and every address, of both families. */
const local = /^(0100007F|0{8}|0{32}|0{16}FFFF00000100007F)$/i;

/** Users whose programs listen there, out of the kernel's table. */
export function listenersIn(table: string, port: number): number[] {
  return table.split('\n').flatMap((row) => {
    const [, address = '', , state, , , , user] = row.trim().split(/\s+/);
    const [host = '', hex = ''] = address.split(':');
    return state === listening && local.test(host) && Number.parseInt(hex, 16) === port ? [Number(user)] : [];
  });
}

/** False where no program listens, or one of another user. */
export async function listensForMe(port: number): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8').catch(() => null)),
  );
  if (tables[0] === null) return true;
  const users = tables.flatMap((table) => listenersIn(table ?? '', port));
  return users.length > 0 && users.every((user) => user === process.getuid?.());
}
