/** The name of the user this program runs as. In a container the user is often a bare number that no account has. */
import { userInfo } from 'node:os';

/** Never throws; the number where there is no name. */
export function userName(look: () => string = () => userInfo().username): string {
  try {
    return look();
  } catch {
    return String(process.getuid?.() ?? 'user');
  }
}
