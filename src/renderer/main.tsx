/** The first script, and all that a browser must have before it shows something: the frame, and then the page when it is there. */
import '@fontsource-variable/inter/index.css';
import '@fontsource-variable/jetbrains-mono/index.css';
import './styles.css';
import { lazy, StrictMode, Suspense } from 'react';
import { createRoot } from 'react-dom/client';
import { FirstFrame } from './app/first-frame.tsx';
import { firstScheme } from './app/first-scheme.ts';
import { keepEarlyEvents } from './base/data/early-events.ts';
import { followKeyboard } from './base/follow-keyboard.ts';
import { later } from './ui/later.ts';

/** The app that shows this page may send its events as soon as the page is loaded. */
const earlyEvents = keepEarlyEvents(window);
const Page = lazy(later(() => import('./page.tsx').then((module) => ({ default: module.Page }))));

followKeyboard(window);
document.documentElement.dataset.theme = firstScheme(localStorage, window.matchMedia('(prefers-color-scheme: dark)'));
const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no element "root".');
createRoot(root).render(
  <StrictMode>
    <Suspense fallback={<FirstFrame />}>
      <Page earlyEvents={earlyEvents} />
    </Suspense>
  </StrictMode>,
);
