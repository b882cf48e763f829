'use strict';

exports.places = { first: 'found beside main.js' };
