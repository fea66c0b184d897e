/** The problem of a model server's address, as a sentence without its end; null: it is valid. Names kinds, never the address. */
export function modelAddressProblem(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return 'Write an address such as http://127.0.0.1:11434/v1';
  if (url.username !== '' || url.password !== '') {
    return 'Addresses are shown and logged: leave out user name and password, and enter the secret as the key';
  }
  if (url.search !== '' || url.hash !== '') return 'Leave out everything after "?" or "#"; enter a secret as the key';
  return null;
}
