Parse.Cloud.define('hello', () => 'Hello from Cloud Code!');
