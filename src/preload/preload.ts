/** The bridge between page and desktop window: facts only, no channel. Bundled as CommonJS, because a sandboxed preload cannot be ESM. */
import { contextBridge } from 'electron';
import type { DesktopBridge } from '../contracts/desktop/bridge.ts';

const bridge: DesktopBridge = { platform: process.platform };
contextBridge.exposeInMainWorld('desktop', bridge);
