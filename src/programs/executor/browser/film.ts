/** Who gets the frames of a session: somebody who looks, a video, or both. Must not know how frames are made. */
import { systemClock } from '../../../kit/clock/clock.ts';
import type { PictureVideo } from '../video.ts';
import type { Session } from './session.ts';
import { type OnFrame, type Watching, watchSession } from './watch.ts';

/** Frames per second of a video. */
const filmFps = 10;

export interface Filming extends Watching {
  /** Null ends it. */
  film(video: PictureVideo | null): Promise<void>;
  /** Somebody looks; a video is nobody. */
  isLookedAt(): boolean;
}

/** `onFrame` is for those who look. */
export function filmSession(session: Session, onFrame: OnFrame): Filming {
  let looking = 0;
  let video: PictureVideo | null = null;
  /** While it is filmed: there is no other until something changes, and whoever begins to look has seen none. */
  let last: Parameters<OnFrame>[0] | null = null;
  const watching = watchSession(session, (frame) => {
    last = video === null ? null : frame;
    if (looking > 0) onFrame(frame);
    video?.picture(frame.jpeg, systemClock.monotonic());
  });
  const wanted = () => Math.max(looking, video === null ? 0 : filmFps);
  return {
    async set(fps) {
      if (looking === 0 && fps > 0 && last !== null) onFrame(last);
      looking = fps;
      await watching.set(wanted());
    },
    async film(next) {
      video = next;
      last = null;
      // A restart shows the present picture, even if nothing changes.
      if (next !== null) await watching.set(0);
      await watching.set(wanted());
    },
    isLookedAt: () => looking > 0,
  };
}
