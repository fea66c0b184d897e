/**
 * Settings of the servers: flag, environment, `settings.json`, default, in this order; each says where it came from, so that
 * `doctor` and errors can name it. Must not start anything.
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { AppError } from '../contracts/common/errors.ts';
import { toolsetForms } from '../runtime-server/models/toolsets/which.ts';
import { dataFolder, placesIn } from './places.ts';

const ranges = {
  port: { from: 0, to: 65_535 },
  enginePort: { from: 0, to: 65_535 },
  peerPort: { from: 0, to: 65_535 },
  eventStreams: { from: 1, to: 10_000 },
} as const;
const within = ({ from, to }: { readonly from: number; readonly to: number }) =>
  z.number().int().min(from).max(to).optional();
const Dollars = z.number().min(0);
const Price = z.strictObject({
  input: Dollars,
  output: Dollars,
  cachedInput: Dollars.optional(),
  cacheWrite: Dollars.optional(),
  upToInput: z.number().int().min(1).optional(),
});
/** `models`: servers of one's own, prices, limits. Keys never stand here: an endpoint names the variable that holds its key. */
const ModelsFile = z.strictObject({
  endpoints: z
    .record(
      z.string().regex(/^[a-z0-9][a-z0-9_-]{0,31}$/),
      z.strictObject({
        wire: z.enum(['anthropic', 'openai', 'google']),
        baseUrl: z.url({ protocol: /^https?$/ }).optional(),
        keyEnv: z
          .string()
          .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
          .optional(),
      }),
    )
    .optional(),
  prices: z.record(z.string().min(1).max(200), Price).optional(),
  limits: z
    .strictObject({
      steps: z.number().int().min(1).max(1000).optional(),
      tokens: z.number().int().min(1000).optional(),
      minutes: z
        .number()
        .min(0.01)
        .max(24 * 60)
        .optional(),
      usd: z.number().gt(0).nullable().optional(),
      dailyUsd: Dollars.nullable().optional(),
    })
    .optional(),
  maxOutputTokens: z.number().int().min(256).optional(),
});
/** `computerUse`: the model of runs that name none, and which models are offered the toolsets in their vendor's own form. */
const ComputerUseFile = z.strictObject({
  model: z.string().min(1).max(200).optional(),
  toolsets: z.record(z.string().min(1).max(200), z.enum(toolsetForms)).optional(),
});
/** `panes`: when an idle one sleeps (0: never), and what is started again after the pane host is gone. */
const PanesFile = z.strictObject({
  sleepAfterMinutes: z.number().min(0).max(100_000).optional(),
  restartBots: z.boolean().optional(),
  hostRestarts: z.number().int().min(0).max(1000).optional(),
});
export const SettingsFile = z.strictObject({
  port: within(ranges.port),
  enginePort: within(ranges.enginePort),
  peerPort: within(ranges.peerPort),
  eventStreams: within(ranges.eventStreams),
  models: ModelsFile.optional(),
  computerUse: ComputerUseFile.optional(),
  panes: PanesFile.optional(),
});
type SettingName = 'port' | 'enginePort' | 'peerPort' | 'eventStreams';

type Source = 'flag' | 'environment' | 'settings.json' | 'default';
interface Setting<T> {
  readonly value: T;
  readonly source: Source;
}

export interface Settings {
  readonly home: string;
  /** Port of the web interface and cloud API; 0 = any free one. */
  readonly port: Setting<number>;
  readonly enginePort: Setting<number>;
  /** Port of the listener for other computers, open while this computer is paired. */
  readonly peerPort: Setting<number>;
  /** Open event streams a principal. */
  readonly eventStreams: Setting<number>;
  /** As settings.json has them. */
  readonly models: z.infer<typeof ModelsFile>;
  readonly computerUse: z.infer<typeof ComputerUseFile>;
  readonly panes: z.infer<typeof PanesFile>;
}

type SettingFlags = Readonly<Partial<Record<SettingName, string | number | undefined>>>;

const names: Readonly<Record<SettingName, { env: string; flag: string; default: number }>> = {
  port: { env: 'GANTRY_PORT', flag: '--port', default: 3010 },
  enginePort: { env: 'GANTRY_ENGINE_PORT', flag: '--engine-port', default: 3011 },
  peerPort: { env: 'GANTRY_PEER_PORT', flag: '--peer-port', default: 3019 },
  eventStreams: { env: 'GANTRY_EVENT_STREAMS', flag: '--event-streams', default: 64 },
};

/** Throws `usage`, naming the flag, variable or file that holds a bad value. */
export function readSettings(env: Readonly<Record<string, string | undefined>>, flags: SettingFlags = {}): Settings {
  const home = dataFolder(env);
  const file = readSettingsFile(placesIn(home).settings);
  const pick = (name: SettingName): Setting<number> => {
    const { env: variable, flag, default: fallback } = names[name];
    const given = flags[name];
    if (given !== undefined) return { value: number(name, given, `the flag ${flag}`), source: 'flag' };
    const fromEnv = env[variable];
    if (fromEnv !== undefined && fromEnv !== '') {
      return { value: number(name, fromEnv, `the variable ${variable}`), source: 'environment' };
    }
    const stored = file[name];
    return stored === undefined ? { value: fallback, source: 'default' } : { value: stored, source: 'settings.json' };
  };
  return {
    home,
    port: pick('port'),
    enginePort: pick('enginePort'),
    peerPort: pick('peerPort'),
    eventStreams: pick('eventStreams'),
    models: file.models ?? {},
    computerUse: file.computerUse ?? {},
    panes: file.panes ?? {},
  };
}

function number(name: SettingName, given: string | number, where: string): number {
  const parsed = SettingsFile.shape[name]
    .unwrap()
    .safeParse(typeof given === 'number' ? given : Number(given.trim() || 'x'));
  if (parsed.success) return parsed.data;
  throw new AppError(
    'usage',
    `${JSON.stringify(given)} is not a valid value for ${where}.`,
    `Give a whole number from ${ranges[name].from} to ${ranges[name].to}.`,
  );
}

function readSettingsFile(path: string): z.infer<typeof SettingsFile> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new AppError('usage', `${path} cannot be read: ${(cause as Error).message}.`, 'Fix its permissions.', {
      cause,
    });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new AppError('usage', `${path} is not JSON: ${(cause as Error).message}.`, 'Fix or delete it.', { cause });
  }
  const parsed = SettingsFile.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new AppError('usage', `${path}: ${[...issue!.path, issue!.message].join(': ')}.`, 'Fix or delete it.');
}

/** As the panes take them. */
export function paneSettings({ sleepAfterMinutes: minutes, hostRestarts }: Settings['panes'] = {}) {
  const sleepAfterMs = minutes === undefined ? undefined : minutes === 0 ? null : minutes * 60_000;
  return { sleepAfterMs, hostRestarts };
}
