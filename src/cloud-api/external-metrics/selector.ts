/**
 * Label selectors of Kubernetes, as an autoscaler sends them: `state in (queued,running),zone=eu,!spot`. Must not know what is labelled.
 */
import { AppError } from '../../contracts/common/errors.ts';

type Labels = Readonly<Record<string, string>>;

const requirement =
  /^\s*(?:(!)\s*([\w./-]+)|([\w./-]+)(?:\s*(==|=|!=)\s*([\w.-]*)|\s+(in|notin)\s*\(([\w.,\s-]*)\))?)\s*(?:,|$)/;

/** Whether labels meet all requirements of the text; an empty text selects everything. Throws `usage`. */
export function readSelector(text: string): (labels: Labels) => boolean {
  const tests: ((labels: Labels) => boolean)[] = [];
  let rest = text;
  while (rest.trim() !== '') {
    const match = requirement.exec(rest);
    if (match === null) throw unreadable(text);
    tests.push(testOf(match));
    rest = rest.slice(match[0].length);
  }
  return (labels) => tests.every((test) => test(labels));
}

/** A label that is not there differs from every value. */
function testOf([, not, absent = '', name = absent, sign, value = '', word, list = '']: RegExpExecArray) {
  const values = word === undefined ? [value] : list.split(',').map((one) => one.trim());
  return (labels: Labels): boolean => {
    const own = Object.hasOwn(labels, name) ? labels[name] : undefined;
    if (not !== undefined) return own === undefined;
    if (sign === undefined && word === undefined) return own !== undefined;
    const isOne = own !== undefined && values.includes(own);
    return sign === '!=' || word === 'notin' ? !isOne : isOne;
  };
}

function unreadable(text: string): AppError {
  const shown = JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
  return new AppError('usage', `${shown} is not a label selector.`, 'Give one such as gpu=a100,zone in (eu,us).');
}
