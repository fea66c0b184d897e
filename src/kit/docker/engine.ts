/**
 * A container engine on this machine, by the API of Docker on its Unix socket. Whoever may use that socket is root on the machine. Must not know what
 * is run in containers.
 */
import type Docker from 'dockerode';

export interface Engine {
  /** Each answer must be complete within the deadline. */
  readonly asks: Docker;
  /** For answers that last, such as waits, events and logs that are followed: only their beginning has the deadline. */
  readonly follows: Docker;
}

/** Milliseconds: an engine under load takes seconds to make a container. */
const answersWithin = 60_000;

/** Connects nowhere yet. The library is loaded here, because hardly any Gantry has an engine. */
export async function openEngine({
  socket,
  within = answersWithin,
}: {
  readonly socket: string;
  /** Milliseconds. */
  readonly within?: number;
}): Promise<Engine> {
  const { default: Client } = await import('dockerode');
  // Named, since a host that the library finds in DOCKER_HOST would go before the socket.
  const here = { socketPath: socket, host: undefined, protocol: 'http' } as const;
  // Its types do not have this option.
  const patient: Docker.DockerOptions & { readonly connectionTimeout: number } = {
    ...here,
    connectionTimeout: within,
  };
  const asks = new Client({ ...here, timeout: within });
  asks.modem.dial = completeWithin(within, asks.modem.dial.bind(asks.modem) as Dial);
  return { asks, follows: new Client(patient) };
}

type Answered = (fault: unknown, answer?: unknown) => void;
type Dial = (options: unknown, answered: Answered) => void;

/** The library's own timeout ends the request, but a call whose answer had begun by then would wait for the rest for ever. */
function completeWithin(ms: number, dial: Dial): Dial {
  return (options, answered) => {
    let timer: NodeJS.Timeout | undefined;
    const once: Answered = (fault, answer) => {
      if (timer === undefined) return;
      clearTimeout(timer);
      timer = undefined;
      answered(fault, answer);
    };
    timer = setTimeout(() => once(Object.assign(new Error('The answer is not complete.'), { code: 'ECONNRESET' })), ms);
    dial(options, once);
  };
}

/** The status of an engine's answer; null: it did not answer. */
export function statusOf(fault: unknown): number | null {
  const { statusCode } = fault as { readonly statusCode?: unknown };
  return typeof statusCode === 'number' ? statusCode : null;
}

/** What an engine answered, or why it did not, as a sentence. */
export function engineWords(socket: string, fault: unknown): string {
  const { code, message, json } = fault as NodeJS.ErrnoException & { readonly json?: { readonly message?: unknown } };
  if (statusOf(fault) !== null) {
    const said = String(json?.message ?? message.replace(/^\(HTTP code \d+\) [^-]*- /, '')).trim();
    return `The container engine answered: ${said}.`;
  }
  if (code === 'ENOENT' || code === 'ECONNREFUSED') return `No container engine runs here (${socket}).`;
  if (code === 'EACCES') return `The container engine at ${socket} serves other users.`;
  if (code === 'ECONNRESET')
    return `The container engine at ${socket} did not answer in time, or closed the connection.`;
  return `The container engine at ${socket} cannot be asked: ${message}`;
}
