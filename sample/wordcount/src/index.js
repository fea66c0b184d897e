export { countWords } from './count.js';
export { topWords } from './top.js';
export { words } from './words.js';
