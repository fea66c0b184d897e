/** Follows the desktop program: a click on a notification or a menu, a link. Window events go out through the one helper. */
import { useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useServices } from '../base/services.tsx';
import { dispatchWindowEvent } from '../base/window-events.ts';

export function ObeyDesktop() {
  const { desktop } = useServices();
  const navigate = useNavigate();
  useEffect(
    () =>
      desktop?.follow((to) => {
        if (to.kind === 'go') void navigate({ href: to.path });
        else dispatchWindowEvent(to.name, to.detail);
      }),
    [desktop, navigate],
  );
  return null;
}
