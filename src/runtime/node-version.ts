// Imported first by every entry, for one that is started without npm.
import './node-version.js';
