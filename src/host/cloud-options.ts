/** The options of a cloud API, and what it offers once made. Must not know how it is composed. */

import type { HomeConnection } from '../cloud-api/home/index.ts';
import type { ComputerBounds, HostedDriver, KubernetesSettings } from '../cloud-api/hosted-computers/index.ts';
import type { OidcSettings } from '../cloud-api/identity/index.ts';
import type { Devices } from '../cloud-api/link/devices.ts';
import type { Link } from '../cloud-api/link/link.ts';
import type { pipeMount } from '../cloud-api/link/replica-proof.ts';
import type { StoreClock } from '../cloud-api/work-queue/index.ts';
import type { DoctorCheck } from '../contracts/common/doctor-check.ts';
import type { Route } from '../contracts/common/route.ts';
import type { linkPath } from '../contracts/link/dial-in.ts';
import type { Clock } from '../kit/clock/clock.ts';
import type { ImageRule } from '../kit/docker/image-rule.ts';
import type { DispatcherOptions, HttpLog } from '../kit/http/dispatcher.ts';
import type { Authenticator, BoundRoute } from '../kit/http/types.ts';
import type { Ids } from '../kit/ids/ids.ts';
import type { openSharedStore } from '../kit/store/open-shared-store.ts';
import type { SharedStore } from '../kit/store/shared-store.ts';
import type { Telemetry } from '../kit/telemetry/telemetry.ts';
import type { ComputersEngine } from './computers-engine.ts';
import type { OpenListener, UpgradeListener } from './listeners.ts';
import type { PhoneSettings } from './phone-settings.ts';
import type { PushSettings } from './push-settings.ts';

/** One person, whose runtime lives in the same process and needs no pairing. */
export interface EmbeddedMode {
  readonly kind: 'embedded';
  readonly ownerToken: string;
  readonly userName: string;
  readonly computer: { readonly id: string; readonly name: string };
  readonly device: { readonly computerId: string; readonly userId: string; readonly token: string };
  /** The pairing of this computer with another cloud; absent where nothing pairs. */
  readonly pairing?: readonly BoundRoute[];
  /** The cloud that this computer is at home in while it is paired; absent where nothing pairs. */
  readonly home?: HomeConnection;
}

/** Many people, who sign in with an OpenID provider and whose computers dial in. */
interface HeadlessMode {
  readonly kind: 'headless';
  /** The address that people use, `https://gantry.example`: no other Host or Origin is served. */
  readonly baseUrl: string;
  /** Where the edge is, when that is another origin: the edge is its root. */
  readonly eventsEdgeUrl?: string | null | undefined;
  /** Proxies in front, whose X-Forwarded-For counts. */
  readonly trustedProxies: readonly string[];
  readonly oidc: OidcSettings;
  /** Keeps the provider's last keys for when it is away. */
  readonly issuerKeysFile: string;
}

/** What the way to the computers may be made of. */
export interface LinkParts {
  readonly store: SharedStore;
  /** The store's clock, which replicas share. */
  readonly storeClock: StoreClock;
  readonly devices: Devices;
  /** Knows a computer by its signature, and takes each signature once. */
  readonly authenticator: Authenticator;
  /** The same for hosted computers, which nothing else knows. */
  readonly hosted: Authenticator;
}

export interface LinkEnd {
  /** Of paired computers; where these dial in, also of hosted ones. */
  readonly link: Link;
  /** Takes what computers dial at {@link linkPath}; absent where none can. Host and Origin are checked before. */
  readonly upgrade?: UpgradeListener;
  /** Handles what other replicas open below {@link pipeMount}; absent without replicas. */
  readonly between?: UpgradeListener;
  /** Cuts a computer off here, but for what it dialled under the pairing that is named; absent where none is paired. */
  end?(computerId: string, reason: string, except?: number): void;
  close(): Promise<void> | void;
}

export interface CloudOptions {
  readonly mode: EmbeddedMode | HeadlessMode;
  readonly databaseFile: string;
  /** A PostgreSQL that replicas share, in place of the file. */
  readonly databaseUrl?: string | null;
  /** Opens either; default: itself. */
  readonly openStore?: typeof openSharedStore | undefined;
  /** The port of the web interface, taken but not yet served. */
  readonly listener: OpenListener;
  /** The port for a cluster's API server, opened but not yet served, and the names in its client certificates; absent: none asks. */
  readonly cluster?: { readonly listener: Omit<OpenListener, 'accept'>; readonly names: readonly string[] } | null;
  readonly openLink: (parts: LinkParts) => LinkEnd | Promise<LinkEnd>;
  /** Seals what signs for the computers. */
  readonly masterKey: string;
  /** Of the internal service token. */
  readonly internalToken: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: HttpLog;
  /** Absent: nothing is traced. */
  readonly telemetry?: Telemetry | undefined;
  /** How a person calls Gantry from where they read this, such as `npx gantry`. */
  readonly gantry: string;
  /** Folder of the built web interface; default `out/renderer`. */
  readonly rendererFolder?: string;
  readonly limits?: DispatcherOptions['limits'];
  readonly answers?: DispatcherOptions['answers'];
  /** What hosted computers are made by; default: the cluster or the container engine, or without them the helper on this machine, `gantry computer-host`. */
  readonly hostedDriver?: HostedDriver;
  readonly computersFolder?: string | undefined;
  readonly computersEngine?: ComputersEngine | null | undefined;
  readonly computersCluster?: KubernetesSettings | null | undefined;
  /** What computers may ask for; default: what their driver allows. */
  readonly computerBounds?: ComputerBounds | undefined;
  /** Default: generated keys, only public addresses. */
  readonly push?: PushSettings;
  /** Who may name which images in tasks. Default null: everybody any. */
  readonly taskImages?: readonly ImageRule[] | null;
  /** Default null: no carrier is configured. */
  readonly phone?: PhoneSettings | null;
}

export interface Cloud {
  /** `http://127.0.0.1:<port>`, or the public address. */
  readonly origin: string;
  readonly notices: readonly string[];
  readonly routes: readonly Route[];
  /** A fresh one-time address. */
  openUrl(next?: string): Promise<{ url: string; expiresAt: string }>;
  /** What the doctor of the same process says of the cloud's database. */
  checks(): Promise<readonly DoctorCheck[]>;
  close(): Promise<void>;
}
