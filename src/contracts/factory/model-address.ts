/** The problem of a model server's address, as a sentence without its end; null: it is valid. Names kinds, never the address. */
export function modelAddressProblem(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return 'Write an address such as http://127.0.0.1:11434/v1';
  if (url.username !== '' || url.password !== '') {
    return 'An address is shown and logged: leave the name and password out of it, and give the secret as the key';
  }
  if (url.search !== '' || url.hash !== '')
    return 'Leave out what stands behind "?" or "#"; a secret goes into the key';
  return null;
}
