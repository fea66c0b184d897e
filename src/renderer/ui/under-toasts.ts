/**
 * A toast lies over a dialog, and may be about what was done in it: a press on the toast is meant for its button and does not close the
 * dialog. Must not know what toasts say.
 */
export const underToasts = {
  onInteractOutside(event: Event): void {
    const { target } = event;
    if (target instanceof Element && target.closest('[data-sonner-toaster]') !== null) event.preventDefault();
  },
};
