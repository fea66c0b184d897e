/** The page's own server: it keeps the key, which no page should hold, and calls Gantry, which answers no page of another origin. */
import { readFileSync } from 'node:fs';
import { defineConfig, type ProxyOptions } from 'vite';

const { GANTRY_URL = 'http://127.0.0.1:3010', GANTRY_KEY_FILE = 'computer-use.key' } = process.env;
const toGantry: ProxyOptions = {
  target: GANTRY_URL,
  changeOrigin: true,
  headers: { authorization: `Bearer ${readFileSync(GANTRY_KEY_FILE, 'utf8').trim()}` },
  configure: (proxy) => void proxy.on('proxyReq', (request) => request.removeHeader('origin')),
};

export default defineConfig({
  root: import.meta.dirname,
  server: { host: '127.0.0.1', proxy: { '/computer-use/': toGantry, '/runs/': toGantry, '/stream/': toGantry } },
});
