/** Loaded into each program of the computer: its clock is wrong by as many milliseconds as the file `CHAOS_CLOCK` says. */
import { readFileSync } from 'node:fs';

const RealDate = Date;
const realNow = RealDate.now;
let ahead = 0;

function look() {
  try {
    ahead = Number(readFileSync(process.env.CHAOS_CLOCK, 'utf8')) || 0;
  } catch {
    ahead = 0;
  }
}

look();
setInterval(look, 200).unref();
RealDate.now = () => realNow() + ahead;
globalThis.Date = new Proxy(RealDate, {
  construct: (date, given, as) => Reflect.construct(date, given.length === 0 ? [date.now()] : given, as),
});
