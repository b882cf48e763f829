"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
const StationAdapter_1 = require("../auth/StationAdapter");
Parse.Cloud.define("adapter", () => StationAdapter_1.default.name);
class Station extends Parse.Object {
    constructor() {
        super("Station");
    }
}
Parse.Object.registerSubclass?.("Station", Station);
Parse.Cloud.define("addStation", async ({ params: { name } }) => {
    const station = new Station();
    await station.save({ name }, { useMasterKey: true });
    return station.id;
});
