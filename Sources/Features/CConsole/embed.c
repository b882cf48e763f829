// Written by scripts/embed_console.sh: the files of the folder `files`, and the documents.
#include "CConsole.h"

#ifdef __clang__
#pragma clang diagnostic ignored "-Wc23-extensions"
#endif

struct file {
    const char *name;
    const unsigned char *bytes;
    size_t size;
};

static const unsigned char file_0[] = {
#embed "files/core/api.js"
};
static const unsigned char file_1[] = {
#embed "files/core/dom.js"
};
static const unsigned char file_2[] = {
#embed "files/core/keys.js"
};
static const unsigned char file_3[] = {
#embed "files/core/router.js"
};
static const unsigned char file_4[] = {
#embed "files/core/session.js"
};
static const unsigned char file_5[] = {
#embed "files/core/signal.js"
};
static const unsigned char file_6[] = {
#embed "files/core/words.js"
};
static const unsigned char file_7[] = {
#embed "files/data/access.js"
};
static const unsigned char file_8[] = {
#embed "files/data/batches.js"
};
static const unsigned char file_9[] = {
#embed "files/data/bulk.js"
};
static const unsigned char file_10[] = {
#embed "files/data/cells.js"
};
static const unsigned char file_11[] = {
#embed "files/data/clipboard.js"
};
static const unsigned char file_12[] = {
#embed "files/data/editing.js"
};
static const unsigned char file_13[] = {
#embed "files/data/editors/file.js"
};
static const unsigned char file_14[] = {
#embed "files/data/editors/inline.js"
};
static const unsigned char file_15[] = {
#embed "files/data/editors/members.js"
};
static const unsigned char file_16[] = {
#embed "files/data/editors/pointer.js"
};
static const unsigned char file_17[] = {
#embed "files/data/editors/sheet.js"
};
static const unsigned char file_18[] = {
#embed "files/data/editors/tree.js"
};
static const unsigned char file_19[] = {
#embed "files/data/filter/chips.js"
};
static const unsigned char file_20[] = {
#embed "files/data/filter/model.js"
};
static const unsigned char file_21[] = {
#embed "files/data/grid-geometry.js"
};
static const unsigned char file_22[] = {
#embed "files/data/grid-keys.js"
};
static const unsigned char file_23[] = {
#embed "files/data/grid.js"
};
static const unsigned char file_24[] = {
#embed "files/data/import/columns.js"
};
static const unsigned char file_25[] = {
#embed "files/data/import/reader.js"
};
static const unsigned char file_26[] = {
#embed "files/data/indexing.js"
};
static const unsigned char file_27[] = {
#embed "files/data/rows.js"
};
static const unsigned char file_28[] = {
#embed "files/data/save.js"
};
static const unsigned char file_29[] = {
#embed "files/data/schema.js"
};
static const unsigned char file_30[] = {
#embed "files/data/values.js"
};
static const unsigned char file_31[] = {
#embed "files/index.html"
};
static const unsigned char file_32[] = {
#embed "files/main.js"
};
static const unsigned char file_33[] = {
#embed "files/pages/access/editors.js"
};
static const unsigned char file_34[] = {
#embed "files/pages/access/index.js"
};
static const unsigned char file_35[] = {
#embed "files/pages/account.js"
};
static const unsigned char file_36[] = {
#embed "files/pages/audit/index.js"
};
static const unsigned char file_37[] = {
#embed "files/pages/cloud/index.js"
};
static const unsigned char file_38[] = {
#embed "files/pages/cloud/jobs.js"
};
static const unsigned char file_39[] = {
#embed "files/pages/config/index.js"
};
static const unsigned char file_40[] = {
#embed "files/pages/data/class-actions.js"
};
static const unsigned char file_41[] = {
#embed "files/pages/data/class-menu.js"
};
static const unsigned char file_42[] = {
#embed "files/pages/data/class-view.js"
};
static const unsigned char file_43[] = {
#embed "files/pages/data/import.js"
};
static const unsigned char file_44[] = {
#embed "files/pages/data/index.js"
};
static const unsigned char file_45[] = {
#embed "files/pages/data/new.js"
};
static const unsigned char file_46[] = {
#embed "files/pages/data/object-view.js"
};
static const unsigned char file_47[] = {
#embed "files/pages/files/index.js"
};
static const unsigned char file_48[] = {
#embed "files/pages/health/index.js"
};
static const unsigned char file_49[] = {
#embed "files/pages/live/index.js"
};
static const unsigned char file_50[] = {
#embed "files/pages/logs/index.js"
};
static const unsigned char file_51[] = {
#embed "files/pages/logs/lines.js"
};
static const unsigned char file_52[] = {
#embed "files/pages/operators.js"
};
static const unsigned char file_53[] = {
#embed "files/pages/palette.js"
};
static const unsigned char file_54[] = {
#embed "files/pages/performance/index.js"
};
static const unsigned char file_55[] = {
#embed "files/pages/push/compose.js"
};
static const unsigned char file_56[] = {
#embed "files/pages/push/index.js"
};
static const unsigned char file_57[] = {
#embed "files/pages/rest/index.js"
};
static const unsigned char file_58[] = {
#embed "files/pages/schema/diagram.js"
};
static const unsigned char file_59[] = {
#embed "files/pages/schema/forms.js"
};
static const unsigned char file_60[] = {
#embed "files/pages/schema/index.js"
};
static const unsigned char file_61[] = {
#embed "files/pages/settings/index.js"
};
static const unsigned char file_62[] = {
#embed "files/pages/shell.js"
};
static const unsigned char file_63[] = {
#embed "files/pages/start/index.js"
};
static const unsigned char file_64[] = {
#embed "files/pages/trash/index.js"
};
static const unsigned char file_65[] = {
#embed "files/pages/users/index.js"
};
static const unsigned char file_66[] = {
#embed "files/pages/users/one.js"
};
static const unsigned char file_67[] = {
#embed "files/parts/chart.js"
};
static const unsigned char file_68[] = {
#embed "files/parts/dialog.js"
};
static const unsigned char file_69[] = {
#embed "files/parts/states.js"
};
static const unsigned char file_70[] = {
#embed "files/style/console.css"
};
static const unsigned char file_71[] = {
#embed "files/style/icon.svg"
};
static const unsigned char file_72[] = {
#embed "../../../docs/accounts.md"
};
static const unsigned char file_73[] = {
#embed "../../../docs/architecture.md"
};
static const unsigned char file_74[] = {
#embed "../../../docs/citus.md"
};
static const unsigned char file_75[] = {
#embed "../../../docs/cloud-code-javascript.md"
};
static const unsigned char file_76[] = {
#embed "../../../docs/cloud-code.md"
};
static const unsigned char file_77[] = {
#embed "../../../docs/cloud-swift.md"
};
static const unsigned char file_78[] = {
#embed "../../../docs/coming-from-parse-server.md"
};
static const unsigned char file_79[] = {
#embed "../../../docs/compatibility-data.md"
};
static const unsigned char file_80[] = {
#embed "../../../docs/compatibility-features.md"
};
static const unsigned char file_81[] = {
#embed "../../../docs/compatibility-users.md"
};
static const unsigned char file_82[] = {
#embed "../../../docs/compatibility.md"
};
static const unsigned char file_83[] = {
#embed "../../../docs/configuration.md"
};
static const unsigned char file_84[] = {
#embed "../../../docs/console.md"
};
static const unsigned char file_85[] = {
#embed "../../../docs/database.md"
};
static const unsigned char file_86[] = {
#embed "../../../docs/export.md"
};
static const unsigned char file_87[] = {
#embed "../../../docs/file-stores.md"
};
static const unsigned char file_88[] = {
#embed "../../../docs/files.md"
};
static const unsigned char file_89[] = {
#embed "../../../docs/growing.md"
};
static const unsigned char file_90[] = {
#embed "../../../docs/import.md"
};
static const unsigned char file_91[] = {
#embed "../../../docs/index-js.md"
};
static const unsigned char file_92[] = {
#embed "../../../docs/jobs.md"
};
static const unsigned char file_93[] = {
#embed "../../../docs/live-queries.md"
};
static const unsigned char file_94[] = {
#embed "../../../docs/logs.md"
};
static const unsigned char file_95[] = {
#embed "../../../docs/maintenance.md"
};
static const unsigned char file_96[] = {
#embed "../../../docs/observability.md"
};
static const unsigned char file_97[] = {
#embed "../../../docs/operations.md"
};
static const unsigned char file_98[] = {
#embed "../../../docs/performance.md"
};
static const unsigned char file_99[] = {
#embed "../../../docs/push.md"
};
static const unsigned char file_100[] = {
#embed "../../../docs/routes.md"
};
static const unsigned char file_101[] = {
#embed "../../../docs/security.md"
};
static const unsigned char file_102[] = {
#embed "../../../docs/sign-in.md"
};
static const unsigned char file_103[] = {
#embed "../../../docs/tutorial.md"
};

static const struct file all[] = {
    {"core/api.js", file_0, sizeof file_0},
    {"core/dom.js", file_1, sizeof file_1},
    {"core/keys.js", file_2, sizeof file_2},
    {"core/router.js", file_3, sizeof file_3},
    {"core/session.js", file_4, sizeof file_4},
    {"core/signal.js", file_5, sizeof file_5},
    {"core/words.js", file_6, sizeof file_6},
    {"data/access.js", file_7, sizeof file_7},
    {"data/batches.js", file_8, sizeof file_8},
    {"data/bulk.js", file_9, sizeof file_9},
    {"data/cells.js", file_10, sizeof file_10},
    {"data/clipboard.js", file_11, sizeof file_11},
    {"data/editing.js", file_12, sizeof file_12},
    {"data/editors/file.js", file_13, sizeof file_13},
    {"data/editors/inline.js", file_14, sizeof file_14},
    {"data/editors/members.js", file_15, sizeof file_15},
    {"data/editors/pointer.js", file_16, sizeof file_16},
    {"data/editors/sheet.js", file_17, sizeof file_17},
    {"data/editors/tree.js", file_18, sizeof file_18},
    {"data/filter/chips.js", file_19, sizeof file_19},
    {"data/filter/model.js", file_20, sizeof file_20},
    {"data/grid-geometry.js", file_21, sizeof file_21},
    {"data/grid-keys.js", file_22, sizeof file_22},
    {"data/grid.js", file_23, sizeof file_23},
    {"data/import/columns.js", file_24, sizeof file_24},
    {"data/import/reader.js", file_25, sizeof file_25},
    {"data/indexing.js", file_26, sizeof file_26},
    {"data/rows.js", file_27, sizeof file_27},
    {"data/save.js", file_28, sizeof file_28},
    {"data/schema.js", file_29, sizeof file_29},
    {"data/values.js", file_30, sizeof file_30},
    {"index.html", file_31, sizeof file_31},
    {"main.js", file_32, sizeof file_32},
    {"pages/access/editors.js", file_33, sizeof file_33},
    {"pages/access/index.js", file_34, sizeof file_34},
    {"pages/account.js", file_35, sizeof file_35},
    {"pages/audit/index.js", file_36, sizeof file_36},
    {"pages/cloud/index.js", file_37, sizeof file_37},
    {"pages/cloud/jobs.js", file_38, sizeof file_38},
    {"pages/config/index.js", file_39, sizeof file_39},
    {"pages/data/class-actions.js", file_40, sizeof file_40},
    {"pages/data/class-menu.js", file_41, sizeof file_41},
    {"pages/data/class-view.js", file_42, sizeof file_42},
    {"pages/data/import.js", file_43, sizeof file_43},
    {"pages/data/index.js", file_44, sizeof file_44},
    {"pages/data/new.js", file_45, sizeof file_45},
    {"pages/data/object-view.js", file_46, sizeof file_46},
    {"pages/files/index.js", file_47, sizeof file_47},
    {"pages/health/index.js", file_48, sizeof file_48},
    {"pages/live/index.js", file_49, sizeof file_49},
    {"pages/logs/index.js", file_50, sizeof file_50},
    {"pages/logs/lines.js", file_51, sizeof file_51},
    {"pages/operators.js", file_52, sizeof file_52},
    {"pages/palette.js", file_53, sizeof file_53},
    {"pages/performance/index.js", file_54, sizeof file_54},
    {"pages/push/compose.js", file_55, sizeof file_55},
    {"pages/push/index.js", file_56, sizeof file_56},
    {"pages/rest/index.js", file_57, sizeof file_57},
    {"pages/schema/diagram.js", file_58, sizeof file_58},
    {"pages/schema/forms.js", file_59, sizeof file_59},
    {"pages/schema/index.js", file_60, sizeof file_60},
    {"pages/settings/index.js", file_61, sizeof file_61},
    {"pages/shell.js", file_62, sizeof file_62},
    {"pages/start/index.js", file_63, sizeof file_63},
    {"pages/trash/index.js", file_64, sizeof file_64},
    {"pages/users/index.js", file_65, sizeof file_65},
    {"pages/users/one.js", file_66, sizeof file_66},
    {"parts/chart.js", file_67, sizeof file_67},
    {"parts/dialog.js", file_68, sizeof file_68},
    {"parts/states.js", file_69, sizeof file_69},
    {"style/console.css", file_70, sizeof file_70},
    {"style/icon.svg", file_71, sizeof file_71},
    {"docs/accounts.md", file_72, sizeof file_72},
    {"docs/architecture.md", file_73, sizeof file_73},
    {"docs/citus.md", file_74, sizeof file_74},
    {"docs/cloud-code-javascript.md", file_75, sizeof file_75},
    {"docs/cloud-code.md", file_76, sizeof file_76},
    {"docs/cloud-swift.md", file_77, sizeof file_77},
    {"docs/coming-from-parse-server.md", file_78, sizeof file_78},
    {"docs/compatibility-data.md", file_79, sizeof file_79},
    {"docs/compatibility-features.md", file_80, sizeof file_80},
    {"docs/compatibility-users.md", file_81, sizeof file_81},
    {"docs/compatibility.md", file_82, sizeof file_82},
    {"docs/configuration.md", file_83, sizeof file_83},
    {"docs/console.md", file_84, sizeof file_84},
    {"docs/database.md", file_85, sizeof file_85},
    {"docs/export.md", file_86, sizeof file_86},
    {"docs/file-stores.md", file_87, sizeof file_87},
    {"docs/files.md", file_88, sizeof file_88},
    {"docs/growing.md", file_89, sizeof file_89},
    {"docs/import.md", file_90, sizeof file_90},
    {"docs/index-js.md", file_91, sizeof file_91},
    {"docs/jobs.md", file_92, sizeof file_92},
    {"docs/live-queries.md", file_93, sizeof file_93},
    {"docs/logs.md", file_94, sizeof file_94},
    {"docs/maintenance.md", file_95, sizeof file_95},
    {"docs/observability.md", file_96, sizeof file_96},
    {"docs/operations.md", file_97, sizeof file_97},
    {"docs/performance.md", file_98, sizeof file_98},
    {"docs/push.md", file_99, sizeof file_99},
    {"docs/routes.md", file_100, sizeof file_100},
    {"docs/security.md", file_101, sizeof file_101},
    {"docs/sign-in.md", file_102, sizeof file_102},
    {"docs/tutorial.md", file_103, sizeof file_103},
};

int console_file_count(void) { return sizeof all / sizeof all[0]; }
const char *console_file_name(int number) { return all[number].name; }
const unsigned char *console_file_bytes(int number) { return all[number].bytes; }
size_t console_file_size(int number) { return all[number].size; }
