/**
 * Globs of policy rules: `*` anything, in paths anything but a slash, `**` anything, `?` one character, `{a,b}` either. Pure.
 */
type GlobKind = 'words' | 'path';

/** Throws for a `{` without its `}`. */
export function compileGlob(glob: string, kind: GlobKind): RegExp {
  const one = kind === 'path' ? '[^/]' : '[\\s\\S]';
  let pattern = '';
  let depth = 0;
  for (let at = 0; at < glob.length; at += 1) {
    const char = glob[at]!;
    if (char === '*') {
      let stars = 1;
      while (glob[at + 1] === '*') {
        stars += 1;
        at += 1;
      }
      if (stars === 1) pattern += `${one}*`;
      // `**/x` is also `x` itself.
      else if (kind === 'path' && glob[at + 1] === '/') {
        at += 1;
        pattern += '(?:[\\s\\S]*/)?';
      } else pattern += '[\\s\\S]*';
    } else if (char === '?') pattern += one;
    else if (char === '{') {
      depth += 1;
      pattern += '(?:';
    } else if (char === '}' && depth > 0) {
      depth -= 1;
      pattern += ')';
    } else if (char === ',' && depth > 0) pattern += '|';
    else pattern += char.replace(/[.+^$()|[\]\\{}]/g, '\\$&');
  }
  if (depth > 0) throw new Error(`"${glob}" has a { without a }.`);
  return new RegExp(`^${pattern}$`);
}
