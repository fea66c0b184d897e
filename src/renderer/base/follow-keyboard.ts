/**
 * Keeps what is at the foot of the page above a keyboard on the screen. Browsers that know `interactive-widget` make the window smaller
 * themselves; Safari lays its keyboard over the window and moves the page up instead, its head out of sight.
 */

/** Less than this is no keyboard: bars of the browser that come and go, and the rounding of a page that is zoomed. CSS pixels. */
const lowestKeyboard = 80;

export function followKeyboard(window: Window): void {
  const view = window.visualViewport;
  if (view === null) return;
  const follow = () => {
    const covered = Math.round(window.innerHeight - view.height * view.scale);
    const keyboard = covered < lowestKeyboard ? 0 : covered;
    window.document.documentElement.style.setProperty('--keyboard', `${keyboard}px`);
    if (keyboard > 0) window.scrollTo(0, 0);
  };
  view.addEventListener('resize', follow);
  follow();
}
