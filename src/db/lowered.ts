/**
 * SQL: a text in small letters, as JavaScript makes them, whatever the locale of the database: in a
 * Turkish one I and i are two letters, and one of libc may know those of ASCII only. Its order is
 * that of its bytes, which no update of the system changes below an index.
 */
export const lowered = (text: string): string => `lower(${text} collate "und-x-icu") collate "C"`;
