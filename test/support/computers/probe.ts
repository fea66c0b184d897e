/**
 * Tries from where it runs what it is told on its command line as JSON, all at once, and prints what came of each. Run in the network
 * namespace of a computer, as somebody with more power there than anything in a computer has.
 */
import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { connect } from 'node:net';

export type Attempt =
  | { readonly do: 'tcp'; readonly host: string; readonly port: number; readonly from?: string }
  | { readonly do: 'datagram'; readonly host: string; readonly text: string; readonly from: string }
  | { readonly do: 'name'; readonly name: string; readonly server: string }
  /** How many of so many questions for a name are answered, asked as quickly as goes for five seconds at most. */
  | { readonly do: 'flood'; readonly name: string; readonly server: string; readonly count: number }
  /** What address DHCP offers. */
  | { readonly do: 'dhcp' };

/** Milliseconds: nobody between here and there is slower. */
const within = 1500;

function tcp({ host, port, from }: Extract<Attempt, { do: 'tcp' }>): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, ...(from === undefined ? {} : { localAddress: from }) });
    const end = (what: string) => {
      clearTimeout(late);
      socket.destroy();
      resolve(what);
    };
    const late = setTimeout(end, within, 'silence');
    socket.once('connect', () => end('open'));
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? 'error'));
  });
}

function datagram({ host, text, from }: Extract<Attempt, { do: 'datagram' }>): Promise<string> {
  return new Promise((resolve) => {
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
    socket.once('error', (error) => resolve((error as NodeJS.ErrnoException).code ?? 'error'));
    socket.bind(0, from, () => {
      socket.send(text, 8080, host, (error) => {
        socket.close();
        resolve(error === null ? 'sent' : 'error');
      });
    });
  });
}

async function name({ name: asked, server }: Extract<Attempt, { do: 'name' }>): Promise<string> {
  const resolver = new Resolver({ timeout: within, tries: 1 });
  resolver.setServers([server]);
  const answers = await Promise.all([
    resolver.resolve4(asked).catch(() => [] as string[]),
    resolver.resolve6(asked).catch(() => [] as string[]),
  ]);
  return answers.flat().join(' ') || 'none';
}

function flood({ name: asked, server, count }: Extract<Attempt, { do: 'flood' }>): Promise<string> {
  const labels = asked.split('.').flatMap((label) => [label.length, ...Buffer.from(label)]);
  const question = Buffer.from([0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...labels, 0, 0, 1, 0, 1]);
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    const until = performance.now() + 5000;
    let sent = 0;
    let answered = 0;
    socket.on('error', (error) => resolve(error.message));
    socket.on('message', () => {
      answered += 1;
    });
    const send = () => {
      for (let one = 0; one < 20 && sent < count; one += 1) {
        question.writeUInt16BE(sent % 65_536, 0);
        socket.send(question, 53, server);
        sent += 1;
      }
      if (sent < count && performance.now() < until) return void setTimeout(send, 2);
      setTimeout(() => {
        socket.close();
        resolve(`${answered} of ${sent}`);
      }, 1000);
    };
    send();
  });
}

/** DISCOVER, with the answer to everybody. */
function dhcp(): Promise<string> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    const end = (what: string) => {
      clearTimeout(late);
      socket.close();
      resolve(what);
    };
    const late = setTimeout(end, within * 2, 'silence');
    socket.on('message', (message) => end([...message.subarray(16, 20)].join('.')));
    socket.once('error', (error) => end(error.message));
    socket.bind(68, '0.0.0.0', () => {
      socket.setBroadcast(true);
      const discover = Buffer.alloc(300);
      discover.set([1, 1, 6, 0, 0x12, 0x34, 0x56, 0x78]);
      discover.writeUInt16BE(0x8000, 10);
      discover.set([2, 0, 0, 0, 0, 1], 28);
      discover.set([0x63, 0x82, 0x53, 0x63, 53, 1, 1, 255], 236);
      socket.send(discover, 67, '255.255.255.255');
    });
  });
}

const attempts = JSON.parse(process.argv[2] ?? '[]') as Attempt[];
function made(attempt: Attempt): Promise<string> {
  switch (attempt.do) {
    case 'tcp':
      return tcp(attempt);
    case 'datagram':
      return datagram(attempt);
    case 'name':
      return name(attempt);
    case 'flood':
      return flood(attempt);
    case 'dhcp':
      return dhcp();
  }
}

console.log(JSON.stringify(await Promise.all(attempts.map(made))));
