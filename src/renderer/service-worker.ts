/**
 * The page's worker (/sw.js): shows pushes, answers a question from its notification's buttons, leads a click into the page. It keeps
 * nothing and stands in the way of no request: what the page reads is always the server's.
 */
import {
  answered,
  isDecision,
  notificationOf,
  outcomeOf,
  ownPath,
  type Shown,
  type ShownData,
} from './worker/notification.ts';

declare const self: ServiceWorkerGlobalScope;

/** Written out, because the contract's schemas stay out of the worker. */
const actionPath = (token: string): string => `/api/v1/push/actions/${encodeURIComponent(token)}`;

// A newer worker takes over at once: it answers to the same server, and nothing of the older one's is kept.
self.addEventListener('install', () => void self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));

self.addEventListener('push', (event) => {
  event.waitUntil(Promise.all([show(notificationOf(event.data?.text() ?? null)), tellPages({ type: 'pushed' })]));
});

self.addEventListener('notificationclick', (event) => {
  const { action, notification } = event;
  const { data, tag } = notification as Notification & { data: ShownData };
  notification.close();
  if (isDecision(action) && data.token !== null) {
    event.waitUntil(
      resolve(data.token, action)
        .then((answer) => show(answered(outcomeOf(action, data.asked, answer), { tag, data })))
        .then(() => tellPages({ type: 'pushed' })),
    );
  } else event.waitUntil(open(ownPath(data?.url)));
});

/** The browser gave this subscription up: the server must hear of the new one, as far as somebody is signed in. */
self.addEventListener('pushsubscriptionchange', (event) => {
  event.waitUntil(renew(event as PushSubscriptionChangeEvent));
});

function show({ title, options }: Shown): Promise<void> {
  return self.registration.showNotification(title, options as NotificationOptions);
}

/** Null: nobody could be reached. The token is the credential, so no cookie goes along. */
async function resolve(token: string, decision: string): Promise<{ status: number; message: string } | null> {
  try {
    const answer = await fetch(actionPath(token), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ decision }),
      credentials: 'omit',
    });
    const body = (await answer.json().catch(() => ({}))) as { message?: unknown };
    return { status: answer.status, message: typeof body.message === 'string' ? body.message : '' };
  } catch {
    return null;
  }
}

async function pages(): Promise<readonly WindowClient[]> {
  return self.clients.matchAll({ type: 'window', includeUncontrolled: true });
}

async function tellPages(
  message: { readonly type: 'pushed' } | { readonly type: 'open'; readonly url: string },
): Promise<void> {
  for (const page of await pages()) page.postMessage(message);
}

async function open(url: string): Promise<void> {
  const all = await pages();
  const page = all.find((one) => one.visibilityState === 'visible') ?? all[0];
  if (page === undefined) {
    await self.clients.openWindow(url);
    return;
  }
  page.postMessage({ type: 'open', url });
  // A browser that does not let a worker raise its window leaves it where it is; the page has the address all the same.
  await page.focus().catch(() => {});
}

interface PushSubscriptionChangeEvent extends ExtendableEvent {
  readonly newSubscription?: PushSubscription | null;
  readonly oldSubscription?: PushSubscription | null;
}

async function renew(event: PushSubscriptionChangeEvent): Promise<void> {
  const key = event.oldSubscription?.options.applicationServerKey;
  const fresh =
    event.newSubscription ??
    (key == null
      ? null
      : await self.registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key }));
  if (fresh === null) return;
  const session = await fetch('/api/v1/session');
  // Nobody is signed in; the page asks for push again after the next sign-in.
  if (!session.ok) return;
  const { csrf } = (await session.json()) as { csrf: string };
  const { endpoint, keys } = fresh.toJSON();
  await fetch('/api/v1/push/subscriptions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-platform-csrf': csrf },
    body: JSON.stringify({ endpoint, keys: { p256dh: keys?.p256dh, auth: keys?.auth } }),
  });
}
