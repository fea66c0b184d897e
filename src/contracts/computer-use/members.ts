/**
 * The members of the toolsets: 17 of `computer` and 31 of `browser`, exactly as Anthropic defined them, and 3 of `shell`, which only hosted computers
 * without a screen have. Each has its input, its class, and whether it must be switched on. Must not know how one is carried out.
 */
import { z } from 'zod';

export const toolsets = ['computer', 'browser'] as const;
export const Toolset = z.enum(toolsets);
export type Toolset = z.infer<typeof Toolset>;
/** Of every computer, also of a hosted one without a screen. */
export const anyToolsets = [...toolsets, 'shell'] as const;
export const AnyToolset = z.enum(anyToolsets);
export type AnyToolset = z.infer<typeof AnyToolset>;

/** How much a member can do; in this order its risk is low, medium, high. */
export const memberClasses = ['observe', 'act', 'risky'] as const;
export type MemberClass = (typeof memberClasses)[number];

export interface Member {
  readonly input: z.ZodObject;
  readonly class: MemberClass;
  /** Only when the call names it in `enable`. */
  readonly offByDefault?: true;
  /** Has coordinates, in the space that the call names. */
  readonly points?: true;
  readonly about: string;
}

/** Characters of one `type`. */
export const maxTextLength = 20_000;
/** Characters of a page as text or tree. */
export const maxReadLength = 50_000;
/** Seconds. */
export const maxDesktopHoldSeconds = 300;
export const maxBrowserHoldSeconds = 30;
export const maxRepeats = 100;
export const maxWheelClicks = 100;
export const maxBrowserWheelClicks = 10;

const Coordinate = z.tuple([z.number(), z.number()]);
const Region = z.tuple([z.number(), z.number(), z.number(), z.number()]);
const Direction = z.enum(['up', 'down', 'left', 'right']);
/** Vendors' clients send null for omitted fields. */
const optional = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? undefined);
const Chord = z.string().min(1).max(200);
const Repeat = z.number().int().min(1).max(maxRepeats);
const Text = z.string().max(maxTextLength);
const object = z.strictObject;

const click = {
  input: object({ coordinate: optional(Coordinate), text: optional(Chord) }),
  class: 'act',
  points: true,
} as const;

export const computerMembers = {
  screenshot: { input: object({}), class: 'observe', about: 'Takes a screenshot of the whole screen.' },
  cursor_position: { input: object({}), class: 'observe', about: 'Returns the position of the pointer.' },
  left_mouse_down: { input: object({}), class: 'act', about: 'Presses the left button where the pointer is.' },
  left_mouse_up: { input: object({}), class: 'act', about: 'Releases the left button.' },
  zoom: {
    input: object({ region: Region }),
    class: 'observe',
    points: true,
    about: 'Takes an enlarged screenshot of a part of the screen.',
  },
  left_click: { ...click, about: 'Clicks at a place, or at the pointer; text names keys to hold during the click.' },
  right_click: { ...click, about: 'Clicks with the right button.' },
  middle_click: { ...click, about: 'Clicks with the middle button.' },
  double_click: { ...click, about: 'Clicks twice.' },
  triple_click: { ...click, about: 'Clicks three times.' },
  left_click_drag: {
    input: object({ start_coordinate: Coordinate, coordinate: Coordinate, text: optional(Chord) }),
    class: 'act',
    points: true,
    about: 'Presses at one place, moves, and releases at another.',
  },
  mouse_move: { input: object({ coordinate: Coordinate }), class: 'act', points: true, about: 'Moves the pointer.' },
  scroll: {
    input: object({
      scroll_direction: Direction,
      scroll_amount: z.number().int().min(0).max(maxWheelClicks),
      coordinate: optional(Coordinate),
      text: optional(Chord),
    }),
    class: 'act',
    points: true,
    about: 'Scrolls by this many clicks of the wheel.',
  },
  type: { input: object({ text: Text }), class: 'act', about: 'Types the text unchanged.' },
  key: {
    input: object({ text: Chord, repeat: optional(Repeat) }),
    class: 'act',
    about: 'Presses a key combination such as ctrl+s, with the key names of xdotool.',
  },
  hold_key: {
    input: object({ text: Chord, duration: z.number().min(0).max(maxDesktopHoldSeconds) }),
    class: 'act',
    about: 'Holds a key combination for this many seconds.',
  },
  wait: {
    input: object({ duration: z.number().min(0).max(maxDesktopHoldSeconds) }),
    class: 'observe',
    about: 'Waits for this many seconds.',
  },
} as const satisfies Readonly<Record<string, Member>>;

const tab = { tab_id: optional(z.string().min(1).max(100)) };
const At = object({ type: z.literal('coordinate'), x: z.number(), y: z.number() });
const Ref = object({ type: z.literal('ref'), ref: z.string().min(1).max(100) });
const Target = z.discriminatedUnion('type', [At, Ref]);
const browserClick = {
  input: object({ target: Target, modifiers: optional(Chord), ...tab }),
  class: 'act',
  points: true,
} as const;
const Duration = z.number().min(0).max(maxBrowserHoldSeconds);

export const browserMembers = {
  navigate: {
    input: object({ url: z.string().min(1).max(8192), ...tab }),
    class: 'act',
    about: 'Opens an address, or "back", "forward", "reload".',
  },
  list_tabs: { input: object({}), class: 'observe', about: 'Lists all tabs.' },
  new_tab: { input: object({}), class: 'act', about: 'Opens an empty tab and makes it the active one.' },
  switch_tab: {
    input: object({ tab_id: z.string().min(1).max(100) }),
    class: 'act',
    about: 'Makes a tab the active one.',
  },
  close_tab: { input: object({ tab_id: z.string().min(1).max(100) }), class: 'act', about: 'Closes a tab.' },
  read_page: {
    input: object({
      filter: optional(z.enum(['all', 'interactive'])),
      depth: optional(z.number().int().min(1).max(100)),
      ref: optional(z.string().min(1).max(100)),
      ...tab,
    }),
    class: 'observe',
    about: 'Returns the accessibility tree, with a ref for each element that can be acted on.',
  },
  get_page_text: { input: object(tab), class: 'observe', about: 'Returns the text of the page.' },
  find: {
    input: object({ query: z.string().min(1).max(1000), ...tab }),
    class: 'observe',
    about:
      'Finds up to 20 elements by text, role and attributes and returns their refs, ranked by rules, not by a model.',
  },
  read_console: {
    input: object(tab),
    class: 'observe',
    offByDefault: true,
    about: 'Returns what the page has logged since the last call.',
  },
  read_network: {
    input: object(tab),
    class: 'observe',
    offByDefault: true,
    about: 'Returns the requests that the page has made since the last call.',
  },
  screenshot: { input: object(tab), class: 'observe', about: 'Takes a screenshot of the visible part of the page.' },
  zoom: {
    input: object({ region: Region, ...tab }),
    class: 'observe',
    points: true,
    about: 'Takes an enlarged screenshot of a part of the page.',
  },
  left_click: { ...browserClick, about: 'Clicks.' },
  right_click: { ...browserClick, about: 'Clicks with the right button.' },
  middle_click: { ...browserClick, about: 'Clicks with the middle button.' },
  double_click: { ...browserClick, about: 'Clicks twice.' },
  triple_click: { ...browserClick, about: 'Clicks three times.' },
  hover: { input: object({ target: Target, ...tab }), class: 'act', points: true, about: 'Moves the pointer there.' },
  left_click_drag: {
    input: object({ from: At, target: At, ...tab }),
    class: 'act',
    points: true,
    about: 'Presses at one place, moves, and releases at another.',
  },
  left_mouse_down: {
    input: object({ target: At, ...tab }),
    class: 'act',
    points: true,
    about: 'Presses the left button.',
  },
  left_mouse_up: {
    input: object({ target: At, ...tab }),
    class: 'act',
    points: true,
    about: 'Releases the left button.',
  },
  mouse_move: { input: object({ target: At, ...tab }), class: 'act', points: true, about: 'Moves the pointer.' },
  scroll: {
    input: object({
      target: At,
      scroll_direction: Direction,
      scroll_amount: optional(z.number().int().min(1).max(maxBrowserWheelClicks)),
      ...tab,
    }),
    class: 'act',
    points: true,
    about: 'Scrolls at a place; default 3 clicks of the wheel.',
  },
  scroll_to: { input: object({ target: Ref, ...tab }), class: 'act', about: 'Scrolls an element into view.' },
  type: {
    input: object({ text: Text, ...tab }),
    class: 'act',
    about: 'Types the text unchanged into the focused element.',
  },
  key: {
    input: object({ text: Chord, repeat: optional(Repeat), ...tab }),
    class: 'act',
    about: 'Presses key combinations in order; separate them with spaces.',
  },
  hold_key: {
    input: object({ text: Chord, duration: Duration, ...tab }),
    class: 'act',
    about: 'Holds a key combination for this many seconds.',
  },
  wait: { input: object({ duration: Duration, ...tab }), class: 'observe', about: 'Waits for this many seconds.' },
  form_input: {
    input: object({ target: Ref, value: z.union([Text, z.number(), z.boolean()]), ...tab }),
    class: 'act',
    about: 'Sets a field, a selection or a checkbox.',
  },
  file_upload: {
    input: object({
      target: Ref,
      paths: optional(z.array(z.string().min(1).max(4096)).max(20)),
      document_ids: optional(z.array(z.string().min(1).max(200)).max(20)),
      ...tab,
    }),
    class: 'risky',
    offByDefault: true,
    about: 'Selects files in a file field.',
  },
  javascript_exec: {
    input: object({ text: z.string().min(1).max(100_000), ...tab }),
    class: 'risky',
    offByDefault: true,
    about: 'Runs a script in the page and returns the value of its last expression.',
  },
} as const satisfies Readonly<Record<string, Member>>;

/** Characters of a file in one call, which fits the largest body; `append` sends more. */
export const maxWriteLength = 160_000;
/** Bytes of a file in one call; `offset` asks for more. */
export const maxFileRead = 1024 * 1024;
export const defaultFileRead = 256 * 1024;
/** Milliseconds. */
export const maxCommandMs = 300_000;
export const defaultCommandMs = 60_000;

const Path = z.string().min(1).max(4096);
const FileEncoding = z.enum(['utf8', 'base64']);

export const shellMembers = {
  exec: {
    input: object({
      command: z.string().min(1).max(100_000).meta({ description: 'The program; with `shell`, a line for /bin/sh.' }),
      args: optional(z.array(z.string().max(100_000)).max(1000)),
      shell: optional(z.boolean()),
      cwd: optional(Path),
      env: optional(z.record(z.string().regex(/^[A-Za-z_]\w*$/, 'a name of a variable'), z.string().max(100_000))),
      stdin: optional(z.string().max(maxWriteLength)),
      timeout_ms: optional(z.number().int().min(1).max(maxCommandMs)),
    }),
    class: 'act',
    about:
      'Runs a command to its end, with everything that it started. Paths are relative to the home folder. Returns stdout and stderr as two texts, and `exec`.',
  },
  read_file: {
    input: object({
      path: Path,
      offset: optional(z.number().int().min(0)),
      limit: optional(z.number().int().min(1).max(maxFileRead)),
      encoding: optional(FileEncoding),
    }),
    class: 'observe',
    about: 'Returns a part of a file as text or base64; `file.next_offset` says where the rest begins.',
  },
  write_file: {
    input: object({
      path: Path,
      content: z.string().max(maxWriteLength),
      encoding: optional(FileEncoding),
      append: optional(z.boolean()),
    }),
    class: 'act',
    about: 'Writes a file, or adds to its end; folders on its path are made.',
  },
} as const satisfies Readonly<Record<string, Member>>;

export type ComputerMember = keyof typeof computerMembers;
export type BrowserMember = keyof typeof browserMembers;

export const membersOf: Readonly<Record<AnyToolset, Readonly<Record<string, Member>>>> = {
  computer: computerMembers,
  browser: browserMembers,
  shell: shellMembers,
};

/** Null for a name that the toolset has not. */
export function memberOf(toolset: AnyToolset, name: string): Member | null {
  return Object.hasOwn(membersOf[toolset], name) ? membersOf[toolset][name]! : null;
}
