/** The words of one command as a POSIX shell reads them: quotes, a backslash before the end of a line, and `$NAME`. Refuses what it does not know. */
export function shellWords(line: string, values: Readonly<Record<string, string>>): string[] {
  const words: string[] = [];
  let word: string | null = null;
  const add = (text: string) => {
    word = (word ?? '') + text;
  };
  for (let rest = line; rest !== ''; ) {
    const [all, space, single, double, escaped, plain] =
      /^(?:(\\\n|\s)|'([^']*)'|"((?:[^"\\`])*)"|\\(.)|([^\s'"\\$`|&;<>()*?[\]#~]+))/.exec(rest) ?? [];
    if (all === undefined) throw new Error(`A shell would not take this as it stands: ${rest}`);
    rest = rest.slice(all.length);
    if (space !== undefined) {
      if (word !== null) words.push(word);
      word = null;
    } else if (double === undefined) add(single ?? escaped ?? plain ?? '');
    else add(double.replace(/\$(\w+)/g, (_, name: string) => variable(name, values)));
  }
  if (word !== null) words.push(word);
  return words;
}

function variable(name: string, values: Readonly<Record<string, string>>): string {
  const value = values[name];
  if (value === undefined) throw new Error(`$${name} has no value.`);
  return value;
}
