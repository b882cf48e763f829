"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
const parse_server_1 = require("parse-server");
class StationAdapter extends parse_server_1.AuthAdapter {
    constructor(options) {
        super();
        this.secret = options.secret;
    }
    async validateAuthData(authData) {
        if (!this.isKnown(authData.token))
            throw new Parse.Error(Parse.Error.OBJECT_NOT_FOUND, "This is no station.");
        return { response: { station: authData.id } };
    }
    isKnown(token) {
        return token === this.secret;
    }
}
exports.default = StationAdapter;
