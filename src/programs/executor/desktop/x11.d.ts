/** The part of the `x11` package, which has no types, that the desktop uses. */
declare module 'x11' {
  type Reply<Value> = (error: Error | null | undefined, value: Value) => unknown;

  export interface XEvent {
    readonly name?: string;
    readonly [field: string]: unknown;
  }

  export interface XTest {
    readonly KeyPress: number;
    readonly KeyRelease: number;
    readonly ButtonPress: number;
    readonly ButtonRelease: number;
    readonly MotionNotify: number;
    FakeInput(type: number, detail: number, time: number, window: number, x: number, y: number): void;
  }

  export interface Xkb {
    readonly UseCoreKbd: number;
    UseExtension(major: number, minor: number, reply: Reply<unknown>): void;
    GetState(device: number, reply: Reply<{ group: number; lockedMods: number; baseMods: number }>): void;
    LatchLockState(
      device: number,
      affectLocks: number,
      locks: number,
      lockGroup: boolean,
      group: number,
      affectLatches: number,
      latches: number,
      latchGroup: boolean,
      groupLatch: number,
    ): void;
  }

  export interface Fixes {
    GetCursorImage(
      reply: Reply<{
        x: number;
        y: number;
        width: number;
        height: number;
        xhot: number;
        yhot: number;
        cursorImage: Buffer;
      }>,
    ): void;
  }

  export interface Damage {
    readonly ReportLevel: { readonly NonEmpty: number };
    Create(damage: number, drawable: number, level: number): void;
    Destroy(damage: number): void;
    Subtract(damage: number, repair: number, parts: number): void;
  }

  export interface Property {
    readonly type: number;
    readonly format: number;
    readonly bytesAfter: number;
    readonly data: Buffer;
  }

  export interface XClient {
    atoms: Readonly<Record<string, number>>;
    AllocID(): number;
    require(name: 'xtest', reply: Reply<XTest>): void;
    require(name: 'xkb', reply: Reply<Xkb>): void;
    require(name: 'fixes', reply: Reply<Fixes>): void;
    require(name: 'damage', reply: Reply<Damage>): void;
    terminate(): void;
    on(event: 'event', listener: (event: XEvent) => void): void;
    on(event: 'error', listener: (error: Error) => void): void;
    on(event: 'end', listener: () => void): void;
    readonly stream: { on(event: 'close', listener: () => void): void; destroy(): void } | undefined;

    GetImage(
      format: number,
      drawable: number,
      x: number,
      y: number,
      width: number,
      height: number,
      planes: number,
      reply: Reply<{ depth: number; data: Buffer }>,
    ): void;
    QueryPointer(window: number, reply: Reply<{ rootX: number; rootY: number; child: number; keyMask: number }>): void;
    GetKeyboardMapping(first: number, count: number, reply: Reply<number[][]>): void;
    GetModifierMapping(reply: Reply<number[][]>): void;
    QueryKeymap(reply: Reply<Buffer>): void;
    GetInputFocus(reply: Reply<{ focus: number }>): void;
    QueryTree(window: number, reply: Reply<{ root: number; parent: number; children: number[] }>): void;
    TranslateCoordinates(
      from: number,
      to: number,
      x: number,
      y: number,
      reply: Reply<{ child: number; destX: number; destY: number }>,
    ): void;
    InternAtom(onlyIfExists: boolean, name: string, reply: Reply<number>): void;
    GetProperty(
      remove: number,
      window: number,
      name: number,
      type: number,
      offset: number,
      length: number,
      reply: Reply<Property>,
    ): void;
    ChangeProperty(
      mode: number,
      window: number,
      name: number,
      type: number,
      format: number,
      data: Buffer | readonly number[],
      reply?: Reply<unknown>,
    ): void;
    DeleteProperty(window: number, name: number): void;
    GetSelectionOwner(selection: number, reply: Reply<number>): void;
    SetSelectionOwner(owner: number, selection: number, time: number): void;
    ConvertSelection(requestor: number, selection: number, target: number, property: number, time: number): void;
    SendEvent(window: number, propagate: number, mask: number, event: XEvent | Buffer, reply?: Reply<unknown>): void;
    CreateWindow(
      id: number,
      parent: number,
      x: number,
      y: number,
      width: number,
      height: number,
      border: number,
      depth: number,
      kind: number,
      visual: number,
      values: Readonly<Record<string, number>>,
    ): void;
    ChangeWindowAttributes(window: number, values: Readonly<Record<string, number>>): void;
  }

  export interface XScreen {
    readonly root: number;
    readonly pixel_width: number;
    readonly pixel_height: number;
    readonly root_depth: number;
  }
  export interface XDisplay {
    readonly client: XClient;
    readonly screen: readonly XScreen[];
    readonly min_keycode: number;
    readonly max_keycode: number;
    readonly format: Readonly<Record<number, { readonly bits_per_pixel: number }>>;
  }

  const x11: {
    createClient(
      options: { display: string; shm?: false; disableBigRequests?: boolean },
      ready: (error: Error | undefined, display: XDisplay) => void,
    ): XClient;
    readonly eventMask: Readonly<Record<string, number>>;
    readonly keySyms: Readonly<Record<string, { readonly code: number; readonly description: string | null }>>;
  };
  // biome-ignore lint/style/noDefaultExport: what a CommonJS package exports
  export default x11;
}
