"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.router = void 0;
const express_1 = require("express");
exports.router = (0, express_1.Router)();
exports.router.get("/stations", async (_request, response) => {
    const stations = await new Parse.Query("Station").find({ useMasterKey: true });
    response.json(stations.map((station) => station.toJSON().name));
});
