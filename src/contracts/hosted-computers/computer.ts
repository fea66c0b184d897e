/** A hosted computer, its settings, events and meters. Wire names are in snake_case. Must not know drivers. */
import { z } from 'zod';
import { Id, Time } from '../common/values.ts';

export const hostedStatuses = [
  'provisioning',
  'starting',
  'running',
  'stopping',
  'stopped',
  'deleted',
  'error',
] as const;
export const HostedStatus = z.enum(hostedStatuses);
export type HostedStatus = z.infer<typeof HostedStatus>;

export const maxNameLength = 120;
/** Bytes of it as JSON. */
export const largestMetadata = 8 * 1024;
/** Default size of the whole developer pool; `gantry admin pool` changes it. */
export const defaultPool = 20;
export const defaultKeyConcurrency = 2;
export const maxKeyConcurrency = 10;
/** Seconds without a call after which a computer sleeps; `gantry admin pool` changes it. */
export const defaultIdleSeconds = 300;
export const maxIdleSeconds = 24 * 3600;
/** Which of a person's projects a call is about; absent: the oldest. */
export const projectHeader = 'x-gantry-project';

export const HostedComputerId = z.string().regex(/^cmp_[0-9A-Za-z]{8,40}$/, 'an id such as cmp_01J…');
/** The user that owns the computer: one made for it, never a person's account. */
export const driverUser = (computerId: string): string => `platform-drv:${computerId}`;

/** `files`: what was open is gone, and the next call starts the computer again. */
export const SleepKeeps = z.enum(['memory', 'files']);

export const Wall = z
  .enum(['namespace', 'gvisor', 'vm'])
  .meta({ description: 'What separates computers from their host.' });
export const Egress = z
  .enum(['enforced', 'declared', 'none'])
  .meta({ description: 'How outgoing traffic is restricted.' });
export const Warm = z
  .strictObject({ desktop: z.number().int(), shell: z.number().int() })
  .nullable()
  .meta({ description: 'How many run already for the next creates of that toolset; null: none are kept so.' });

/** The least that a computer may ask for. Mebibytes; processes and threads; seconds. */
export const leastMemoryMib = 128;
export const leastProcesses = 32;
export const leastLifetimeSeconds = 10;
/** Seconds. */
export const maxLifetimeSeconds = 30 * 24 * 3600;

export const HostedToolset = z.enum(['desktop', 'shell']);
export const HostedEgress = z.enum(['public', 'none']);

export const HostedComputer = z
  .strictObject({
    id: z.string(),
    object: z.literal('computer'),
    name: z.string(),
    status: HostedStatus,
    sleeping: z.boolean().meta({ description: 'Running, but asleep until the next call; no minutes are counted.' }),
    sleep_keeps: SleepKeeps.meta({
      description:
        'What it keeps while it sleeps: everything that is open, or only its files (it is then started again).',
    }),
    toolset: HostedToolset.meta({
      description:
        '`desktop`: a screen with a browser, and the toolsets computer and browser. `shell`: neither, and the toolset shell.',
    }),
    egress: HostedEgress.meta({ description: 'What it reaches: public addresses, or nothing.' }),
    image: z.string().nullable().meta({ description: 'The image it was made from; null: the usual one.' }),
    memory_mib: z.number().int().nullable().meta({ description: 'Its memory; null: the usual limit.' }),
    processes: z
      .number()
      .int()
      .nullable()
      .meta({ description: 'How many processes and threads it may have; null: the usual limit.' }),
    lifetime_seconds: z
      .number()
      .int()
      .nullable()
      .meta({ description: 'How long after each start it is ended; null: it is not.' }),
    account_id: z.string().nullable().meta({ description: 'Set by the developer.' }),
    key_id: z.string().nullable(),
    created_at: Time,
    started_at: Time.nullable(),
    metadata: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'HostedComputer' });
export type HostedComputer = z.infer<typeof HostedComputer>;

/** The area itself checks lengths: it has its own codes for them. */
export const CreateHostedComputer = z.strictObject({
  name: z.string().optional(),
  toolset: HostedToolset.optional().meta({ description: 'Default: desktop.' }),
  egress: HostedEgress.optional().meta({ description: 'Default: public.' }),
  image: z
    .string()
    .max(500)
    .regex(/^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._/:@-]*$/, 'the name of an image, such as acme/computer:2')
    .optional()
    .meta({ description: 'One that the engine has and the operator allows; only drivers of container engines.' }),
  memory_mib: z
    .number()
    .int()
    .min(leastMemoryMib)
    .max(1_048_576)
    .optional()
    .meta({ description: 'At most the usual limit.' }),
  processes: z
    .number()
    .int()
    .min(leastProcesses)
    .max(1_000_000)
    .optional()
    .meta({ description: 'Processes and threads; at most the usual limit.' }),
  lifetime_seconds: z
    .number()
    .int()
    .min(leastLifetimeSeconds)
    .max(maxLifetimeSeconds)
    .optional()
    .meta({ description: 'It is ended this long after each start. Default: the longest that the operator allows.' }),
  account_id: Id.optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
});

export const ComputerSettings = z
  .strictObject({
    hosted_driver_enabled: z.boolean(),
    approval_mode: z.enum(['owner', 'api_key']),
    per_key_concurrency: z.number().int().meta({
      description:
        'How many computers of one key may be awake at once, and how many of its toolset calls may run at once.',
    }),
    browser_toolset: z.boolean(),
  })
  .meta({ id: 'ComputerSettings' });
export type ComputerSettings = z.infer<typeof ComputerSettings>;

export const ChangeComputerSettings = z.strictObject({
  approval_mode: z.enum(['owner', 'api_key']).optional(),
  per_key_concurrency: z.number().int().min(1).max(maxKeyConcurrency).optional(),
  browser_toolset: z.boolean().optional(),
});

/** What every person with hosted computers may know of where they are made. Of other people's computers only the number. */
export const ComputerPool = z
  .strictObject({
    driver: z.string().meta({ description: 'What makes the computers, such as `namespace` or `docker`.' }),
    refused: z.string().nullable().meta({ description: 'Why no computer can be created here; null: one can.' }),
    wall: Wall,
    egress: Egress,
    sleep_keeps: SleepKeeps.meta({ description: 'What a sleeping computer keeps.' }),
    idle_seconds: z.number().int().meta({ description: 'How long after its last call a computer sleeps.' }),
    running: z.number().int().meta({ description: 'How many may be awake at once, across all projects.' }),
    awake: z.number().int().meta({ description: 'How many are awake now, across all projects.' }),
    warm: Warm,
    images: z.array(z.string()).nullable().meta({
      description:
        'Beginnings of the names of images that you may ask for; null: any that the engine has; empty: none.',
    }),
    lifetime_seconds: z
      .number()
      .int()
      .nullable()
      .meta({ description: 'The longest lifetime, which is also the default; null: no bound.' }),
    hosts: z
      .array(
        z.strictObject({
          name: z.string().nullable().meta({ description: 'Null: the machine of the cloud.' }),
          refused: z.string().nullable().meta({ description: 'Why no computer can be created on it; null: one can.' }),
          memory_mib: z.number().int().nullable().meta({
            description: 'The memory of each computer, unless it asks for less; null: not limited, or not known.',
          }),
          processes: z.number().int().nullable().meta({
            description: 'The processes and threads of each computer, as `memory_mib`.',
          }),
          egress_proven_at: Time.nullable().meta({
            description:
              'When it was last proven from inside of a computer what it reaches; null: not yet, or not known.',
          }),
          computers: z.number().int().nullable().meta({ description: 'How many it has; null: not known.' }),
          most: z
            .number()
            .int()
            .nullable()
            .meta({ description: 'How many it can have; null: no limit, or not known.' }),
        }),
      )
      .meta({ description: 'The machines, in the order in which they get computers.' }),
  })
  .meta({ id: 'ComputerPool' });
export type ComputerPool = z.infer<typeof ComputerPool>;

export const hostedEventTypes = [
  'computer.created',
  'computer.started',
  'computer.sleeping',
  'computer.woken',
  'computer.stopped',
  'computer.deleted',
  'computer.failed',
  'action.completed',
  'action.failed',
  'action.denied',
  'approval.required',
  'approval.resolved',
  'control.taken',
  'control.released',
  'spend_cap.reached',
] as const;
/** `index` has no gap and begins at 0, a computer each; it is the `id` on the stream. */
export const HostedEvent = z
  .strictObject({
    index: z.number().int().min(0),
    type: z.enum(hostedEventTypes),
    computer_id: z.string(),
    at: Time,
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'HostedEvent' });
export type HostedEvent = z.infer<typeof HostedEvent>;

export const meters = ['computer_minute', 'computer_action'] as const;
export const MeterLine = z
  .strictObject({
    meter: z.enum(meters),
    quantity: z.number().meta({ description: 'Minutes, to a thousandth, or actions, within the hour.' }),
    computer_id: z.string(),
    key_id: z.string().nullable(),
    window_start: Time,
  })
  .meta({ id: 'MeterLine' });
export type MeterLine = z.infer<typeof MeterLine>;
