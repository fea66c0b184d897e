/** Looks of a status that several tables have: one word, icon and tone for what is the same. Must not know whose status it is. */
import {
  BadgeCheck,
  Ban,
  Check,
  CircleX,
  Clock,
  Hand,
  Link,
  Loader,
  type LucideIcon,
  OctagonPause,
  PowerOff,
  Radio,
  ScanEye,
} from 'lucide-react';

export type Tone = 'faint' | 'muted' | 'accent' | 'need' | 'fail' | 'proven';

/** `ring` is the turning ring of a working bot; everything else is a still icon. */
export interface StatusLook {
  readonly word: string;
  readonly icon: LucideIcon | 'ring';
  readonly tone: Tone;
}

export const looks = {
  working: { word: 'Working', icon: 'ring', tone: 'accent' },
  checking: { word: 'Checking', icon: ScanEye, tone: 'accent' },
  running: { word: 'Running', icon: 'ring', tone: 'accent' },
  listening: { word: 'Listening', icon: Radio, tone: 'muted' },
  starting: { word: 'Starting', icon: Loader, tone: 'muted' },
  queued: { word: 'Queued', icon: Clock, tone: 'muted' },
  waits: { word: 'Waiting', icon: Clock, tone: 'muted' },
  stopping: { word: 'Stopping', icon: OctagonPause, tone: 'muted' },
  interrupted: { word: 'Interrupted', icon: PowerOff, tone: 'muted' },
  saidDone: { word: 'Done', icon: Check, tone: 'muted' },
  provenDone: { word: 'Done', icon: BadgeCheck, tone: 'proven' },
  needsYou: { word: 'Needs you', icon: Hand, tone: 'need' },
  waitsForYou: { word: 'Waiting for you', icon: Hand, tone: 'need' },
  needsSignIn: { word: 'Needs sign-in', icon: Hand, tone: 'need' },
  failed: { word: 'Failed', icon: CircleX, tone: 'fail' },
  error: { word: 'Error', icon: CircleX, tone: 'fail' },
  cancelled: { word: 'Cancelled', icon: Ban, tone: 'faint' },
  linked: { word: 'Linked', icon: Link, tone: 'muted' },
} as const satisfies Readonly<Record<string, StatusLook>>;
