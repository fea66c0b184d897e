/** The bridge between page and desktop program: four named channels. Bundled as CommonJS, because a sandboxed preload cannot be ESM. */
import { contextBridge, type IpcRendererEvent, ipcRenderer } from 'electron';
import { desktopChannels } from '../contracts/desktop/channel-names.ts';
import type { DesktopBridge } from '../contracts/desktop/channels.ts';

const bridge: DesktopBridge = {
  platform: process.platform,
  read: () => ipcRenderer.invoke(desktopChannels.read),
  change: (change) => ipcRenderer.invoke(desktopChannels.change, change),
  act: (act) => ipcRenderer.invoke(desktopChannels.act, act),
  onSay(listener) {
    // The event holds the sender, and with it every channel, so the page gets only the message.
    const heard = (_event: IpcRendererEvent, saying: unknown): void => listener(saying);
    ipcRenderer.on(desktopChannels.say, heard);
    return () => ipcRenderer.off(desktopChannels.say, heard);
  },
};
contextBridge.exposeInMainWorld('desktop', bridge);
