/** What can reach the person now, as sentences: each states a known fact. Pure. */
import type { z } from 'zod';
import type { PushDevice } from '../../../contracts/notifications/push.ts';
import type { getReach, NotificationOutcome } from '../../../contracts/notifications/routes.ts';
import type { PushState } from '../../base/data/browser-push.ts';

export type Reach = z.output<(typeof getReach)['answers'][200]>;

export interface ReachLine {
  readonly key: string;
  /** `yes` reaches, `no` does not, `later` comes once something is back. */
  readonly way: 'yes' | 'no' | 'later';
  readonly text: string;
  /** A time the sentence ends with. */
  readonly at?: string;
}

export const deviceOutcomeWords: Readonly<Record<NonNullable<PushDevice['lastOutcome']> | 'gone', string>> = {
  sent: 'its push service accepted the last push',
  refused: 'its push service refused Gantry’s key',
  too_large: 'the last push was too large',
  unreachable: 'its push service could not be reached',
  gone: 'it no longer exists and was removed',
};

export const outcomeWords: Readonly<Record<NotificationOutcome, string>> = {
  claimed: 'is being sent',
  sent: 'reached a device',
  off: 'was not pushed: you turned it off',
  unreachable: 'reached no device',
  skipped: 'was not pushed: too old, too many, or already shown another way',
};

const browserWords: Readonly<Record<PushState, string | null>> = {
  insecure: 'Not this browser: it allows push only over https.',
  unsupported: 'Not this browser: it does not support push.',
  denied: 'Not this browser: it blocks notifications from this page.',
  off: null,
  on: null,
};

export function reachLines(reach: Reach, devices: readonly PushDevice[], browser: PushState | undefined): ReachLine[] {
  const lines: ReachLine[] = [
    {
      key: 'tab',
      way: 'yes',
      text: 'This tab, while it is open: it immediately shows approvals and bots that need you.',
    },
  ];
  if (!reach.pushConfigured) {
    lines.push({ key: 'keys', way: 'no', text: 'No device: this server has no push keys, so nothing is sent.' });
  } else if (!reach.working) {
    lines.push({ key: 'sink', way: 'no', text: 'No device: no pushes are being sent at the moment.' });
  } else if (devices.length === 0) {
    lines.push({ key: 'none', way: 'no', text: 'No device: you have not registered one.' });
  }
  if (reach.pushConfigured && reach.working) {
    for (const device of devices) {
      const { id, name, lastOutcome, lastSentAt } = device;
      const works = lastOutcome === null || lastOutcome === 'sent';
      lines.push({
        key: id,
        way: works ? 'yes' : 'no',
        text: `${name}: ${lastOutcome === null ? 'nothing sent yet' : deviceOutcomeWords[lastOutcome]}`,
        ...(lastSentAt === null ? {} : { at: lastSentAt }),
      });
    }
  }
  const here = browser === undefined ? null : browserWords[browser];
  if (here !== null) lines.push({ key: 'browser', way: 'no', text: here });
  for (const one of reach.away) {
    lines.push({
      key: `away ${one.id}`,
      way: 'later',
      text: `Events on ${one.name} arrive when it is back; it was last seen`,
      at: one.since,
    });
  }
  return lines;
}

/** The one sentence above them. */
export function reachSummary(reach: Reach, devices: readonly PushDevice[]): string {
  if (!reach.pushConfigured || !reach.working || devices.length === 0) return 'Only open tabs reach you.';
  if (reach.reachable === 0) return 'Only open tabs reach you: no device accepted its last push.';
  if (reach.reachable === reach.devices) {
    return reach.devices === 1 ? 'A push reaches one device.' : `A push reaches ${reach.devices} devices.`;
  }
  return `A push reaches ${reach.reachable} of ${reach.devices} devices.`;
}
