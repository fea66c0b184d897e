/** Identifies this machine, for {@link installationOf}. */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

export function machineName(): string {
  for (const file of ['/etc/machine-id', '/var/lib/dbus/machine-id']) {
    try {
      const id = readFileSync(file, 'utf8').trim();
      if (id !== '') return id;
    } catch {
      // Another system, or a container without one.
    }
  }
  return hostname();
}
