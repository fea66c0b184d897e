/** What the desktop window gives to the page, as `window.desktop`. In a browser there is none. */
export interface DesktopBridge {
  readonly platform: string;
}
