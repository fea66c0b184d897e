/** Applies the rules for pages to every page that Electron creates, before it shows anything. The decisions are in `navigation.ts`. */
import { externalTarget, mayNavigate, mayUse } from './navigation.ts';
import type { ElectronParts } from './parts.ts';
import { againAddress } from './reviving.ts';

interface GuardDeps {
  readonly parts: Pick<ElectronParts, 'app' | 'external'>;
  /** Null while there is no Gantry to show: nothing may be gone to. */
  readonly origin: () => string | null;
  /** The person asks for another try. */
  readonly again: () => void;
}

export function guardPages({ parts, origin, again }: GuardDeps): void {
  parts.app.on('web-contents-created', (_event, contents) => {
    contents.on('will-attach-webview', (event) => event.preventDefault());
    contents.setWindowOpenHandler(({ url }) => {
      const outside = externalTarget(url);
      if (outside !== null) void parts.external.openExternal(outside);
      return { action: 'deny' };
    });
    const stay = (event: { preventDefault(): void; readonly url: string }): void => {
      const home = origin();
      if (home !== null && mayNavigate(event.url, home)) return;
      event.preventDefault();
      // Only a page of ours stands on no origin; one of ours is never led to by a foreign one.
      if (event.url === againAddress && contents.getURL().startsWith('data:')) again();
    };
    contents.on('will-navigate', stay);
    contents.on('will-redirect', stay);
    contents.on('will-frame-navigate', stay);
  });
}

export function guardPermissions(session: ReturnType<ElectronParts['session']>, origin: () => string | null): void {
  const may = (permission: string, requester: string): boolean => {
    const home = origin();
    return home !== null && mayUse(permission, requester, home);
  };
  session.setPermissionRequestHandler((contents, permission, answer) => answer(may(permission, contents.getURL())));
  session.setPermissionCheckHandler((_contents, permission, requester) => may(permission, requester));
  session.setDevicePermissionHandler(() => false);
}
