/** The limits of one conversion, each with its reason. Both ends of the program know them. */

/** Of a document, bytes. Scans and slide decks that people send stay below. */
export const largestInput = 50 * 1024 * 1024;
/** Of all Markdown of one conversion, characters: more than anybody reads, and little enough to be handed on at once. */
export const maxMarkdownLength = 4 * 1024 * 1024;
/** Of all metadata, characters of JSON; what is longer is left out field by field. */
export const maxMetadataLength = 64 * 1024;
export const maxNotes = 50;
/** Bytes that come out of compressed containers in one conversion, over all depths. */
export const maxUnpacked = 256 * 1024 * 1024;
/** Documents inside documents: an archive in a mail in an archive. */
export const deepest = 4;
/** Documents inside one document, over all depths. */
export const maxInner = 1000;
/** V8's heap of the program, MiB. */
export const heapMegabytes = 512;
/** The whole process, buffers outside the heap included, bytes: it is ended beyond. */
export const largestProcess = 1024 * 1024 * 1024;
/** A process that has grown to this is not kept for the next document. Bytes. */
export const maxResidentBytes = 300 * 1024 * 1024;
/** Milliseconds for one conversion, waiting excluded. */
export const defaultDeadlineMs = 60_000;
