// Every entry imports this first, because it may be started without npm.
import './node-version.js';
