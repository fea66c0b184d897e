/** Checks of a transport beyond the contract's schema. Pure. */
import { AppError } from '../../../contracts/common/errors.ts';
import type { Transport } from '../../../contracts/tool-server/servers.ts';

/** `transport` with its secrets; `isOwn`: whether an address is Gantry's own tool server on this computer. Throws `usage`. */
export function checkTransport(transport: Transport, isOwn: (url: URL) => boolean): void {
  if (transport.type === 'stdio') return;
  const bad = (fact: string, action: string) => new AppError('usage', fact, action, { wireCode: 'bad_request' });
  const { url } = transport;
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || (parsed.protocol !== 'https:' && parsed.protocol !== 'http:')) {
    throw bad(`transport.url ${JSON.stringify(url.slice(0, 200))} is no http address.`, 'Give it as https://host/mcp.');
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw bad('transport.url carries a credential.', 'Give it as a header: transport.headers.');
  }
  if (isOwn(parsed)) {
    throw bad(
      'transport.url is Gantry’s own tool server on this computer: it would list its own tools again and again.',
      'Its tools are here already. Attach another server; another computer’s is named with ?computer=<id>.',
    );
  }
  try {
    new Headers(transport.headers ?? {});
  } catch {
    throw bad('transport.headers has a name or a value that no header can have.', 'Correct it.');
  }
}
