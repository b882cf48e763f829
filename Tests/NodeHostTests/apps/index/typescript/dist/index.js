"use strict";
var __importDefault = (this && this.__importDefault) || function (mod) {
    return (mod && mod.__esModule) ? mod : { "default": mod };
};
var __createBinding = (this && this.__createBinding) || function (o, m, k) {
    Object.defineProperty(o, k, { enumerable: true, get: function () { return m[k]; } });
};
var __importStar = (this && this.__importStar) || function (mod) {
    if (mod && mod.__esModule) return mod;
    var result = {};
    if (mod != null) for (var k of Object.getOwnPropertyNames(mod)) if (k !== "default") __createBinding(result, mod, k);
    Object.defineProperty(result, "default", { enumerable: true, value: mod });
    return result;
};
Object.defineProperty(exports, "__esModule", { value: true });
exports.parseServer = exports.app = void 0;
exports.bootstrap = bootstrap;
const express_1 = __importDefault(require("express"));
const path_1 = __importDefault(require("path"));
const http_1 = require("http");
const parse_server_1 = __importStar(require("parse-server"));
const StationAdapter_1 = __importDefault(require("./auth/StationAdapter"));
const routes_1 = require("./routes");
exports.app = (0, express_1.default)();
async function bootstrap() {
    exports.parseServer = new parse_server_1.ParseServer({
        appId: "testApp",
        masterKey: "testMaster",
        masterKeyIps: ["0.0.0.0/0", "::0"],
        serverURL: "http://localhost:1337/parse",
        cloud: path_1.default.resolve(__dirname, "cloud/main.js"),
        auth: { station: { module: StationAdapter_1.default, options: { secret: "s" } } },
        logLevel: "error",
    });
    await exports.parseServer.start();
    exports.app.use("/parse", exports.parseServer.app);
    exports.app.use("/v1", routes_1.router);
    const server = (0, http_1.createServer)(exports.app);
    server.listen(Number(process.env.PORT ?? 1337));
    await parse_server_1.default.ParseServer.createLiveQueryServer(server);
}
void bootstrap();
