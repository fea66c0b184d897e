/** `gantry vault set|ls|rm`. A value comes over stdin, never as an argument: arguments are shown to every user of a computer. */
import { AppError } from '../../contracts/common/errors.ts';
import { type Secret, type SecretDestination, SecretName } from '../../contracts/factory/work-engine/vault.ts';
import { type Context, type Input, optionalText, text } from '../command.ts';
import { verb } from '../route-verb.ts';
import { table } from '../table.ts';
import { ago } from '../words.ts';

export const set = verb('setSecret', {
  fields: { name: nameOf, value: (input, context) => secretFrom(context, nameOf(input)), destination: destinationOf },
  words: ({ dryRun, replaces, usedBy, name }) => {
    const done = replaces ? 'Replaced' : 'Saved';
    const would = replaces ? 'Would replace' : 'Would save';
    const used =
      usedBy.length === 0
        ? `Name it in team.yaml: env: { ${name}: "vault:${name}" }`
        : `Bots get it when they next start: ${usedBy.join(', ')}.`;
    return `${dryRun === true ? would : done} ${name}. ${used}`;
  },
});

function nameOf(input: Input): string {
  const name = text(input, 'name');
  const valid = SecretName.safeParse(name);
  if (valid.success) return name;
  const rule = valid.error.issues[0]?.message ?? '';
  throw new AppError('usage', `${JSON.stringify(name)} cannot be the name of a secret.`, `Use ${rule}.`);
}

const forms = ['raw', 'bearer', 'basic', 'ssh'] as const;

function destinationOf(input: Input): SecretDestination | undefined {
  const given = optionalText(input, 'host');
  if (given === undefined) return undefined;
  const asked = optionalText(input, 'form') ?? 'bearer';
  const form = forms.find((one) => one === asked);
  if (form === undefined) {
    throw new AppError('usage', `${JSON.stringify(asked)} is not a form of a secret.`, `Use ${forms.join(', ')}.`);
  }
  const [, host = given, port = form === 'ssh' ? '22' : '443'] = /^(.*?)(?::(\d{1,5}))?$/.exec(given) ?? [];
  if (form === 'ssh') return { host, port: Number(port), form };
  return {
    host,
    port: Number(port),
    header: (optionalText(input, 'header') ?? 'authorization').toLowerCase(),
    form,
    methods: optionalText(input, 'methods')?.toUpperCase().split(/[ ,]+/) ?? null,
  };
}

async function secretFrom(context: Context, name: string): Promise<string> {
  const { stdin, stderr } = context.terminal;
  const value = stdin.isTTY === true ? await typed(stdin, stderr, `Value of ${name}: `) : await piped(stdin);
  if (value !== '') return value;
  const { gantry } = context.names;
  throw new AppError('usage', 'The value is empty.', `Type it, or pipe it in: ${gantry} vault set ${name} < file`);
}

async function piped(stdin: NodeJS.ReadStream): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of stdin) pieces.push(Buffer.from(piece as Uint8Array));
  return Buffer.concat(pieces)
    .toString('utf8')
    .replace(/\r?\n$/, '');
}

/** One line, without showing it. */
function typed(stdin: NodeJS.ReadStream, stderr: NodeJS.WriteStream, question: string): Promise<string> {
  stderr.write(question);
  stdin.setRawMode?.(true);
  return new Promise((resolve, reject) => {
    let line = '';
    const end = (settle: () => void) => {
      stdin.off('data', onData);
      stdin.setRawMode?.(false);
      stdin.pause();
      stderr.write('\n');
      settle();
    };
    const onData = (chunk: Buffer) => {
      for (const character of chunk.toString('utf8')) {
        if (character === '\r' || character === '\n' || character === '\u0004') return end(() => resolve(line));
        if (character === '\u0003') {
          return end(() => reject(new AppError('refused', 'No value was given.', 'Nothing was changed.')));
        }
        line = character === '\u007f' || character === '\b' ? line.slice(0, -1) : line + character;
      }
    };
    stdin.on('data', onData);
    stdin.resume();
  });
}

export const list = verb('listSecrets', {
  words: (answer, { names, now, output }) => {
    const rows = [
      ...answer.secrets.map((one) => [one.name, ago(one.updatedAt, now()), placeOf(one), one.usedBy.join(', ') || '-']),
      ...answer.missing.map((one) => [one.name, 'MISSING', '-', one.usedBy.join(', ')]),
    ];
    if (rows.length === 0) return `The vault is empty. Add a secret: ${names.gantry} vault set <name>`;
    return table(['name', 'set', 'only for', 'used by'], rows, output.width);
  },
});

function placeOf({ destination }: Secret): string {
  if (destination === undefined) return '-';
  const { host, port, form } = destination;
  return `${host}:${port}, ${form === 'ssh' ? 'an SSH key' : destination.header}`;
}

export const remove = verb('removeSecret', {
  words: ({ dryRun, name, usedBy }) => {
    const used = usedBy.length === 0 ? '' : ` These still name it: ${usedBy.join(', ')}.`;
    return `${dryRun === true ? 'Would remove' : 'Removed'} ${name}.${used}`;
  },
});
