// Written by scripts/embed_console.sh: the files of the folder `files`.
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
#embed "files/core/format.js"
};
static const unsigned char file_3[] = {
#embed "files/core/icons.js"
};
static const unsigned char file_4[] = {
#embed "files/core/keys.js"
};
static const unsigned char file_5[] = {
#embed "files/core/router.js"
};
static const unsigned char file_6[] = {
#embed "files/core/session.js"
};
static const unsigned char file_7[] = {
#embed "files/core/signal.js"
};
static const unsigned char file_8[] = {
#embed "files/core/text.js"
};
static const unsigned char file_9[] = {
#embed "files/core/theme.js"
};
static const unsigned char file_10[] = {
#embed "files/core/words.js"
};
static const unsigned char file_11[] = {
#embed "files/data/acl/summary.js"
};
static const unsigned char file_12[] = {
#embed "files/data/batches.js"
};
static const unsigned char file_13[] = {
#embed "files/data/bulk.js"
};
static const unsigned char file_14[] = {
#embed "files/data/cells.js"
};
static const unsigned char file_15[] = {
#embed "files/data/clipboard.js"
};
static const unsigned char file_16[] = {
#embed "files/data/columns.js"
};
static const unsigned char file_17[] = {
#embed "files/data/conflict.js"
};
static const unsigned char file_18[] = {
#embed "files/data/delete.js"
};
static const unsigned char file_19[] = {
#embed "files/data/editing.js"
};
static const unsigned char file_20[] = {
#embed "files/data/editors/access.js"
};
static const unsigned char file_21[] = {
#embed "files/data/editors/bytes.js"
};
static const unsigned char file_22[] = {
#embed "files/data/editors/file.js"
};
static const unsigned char file_23[] = {
#embed "files/data/editors/inline.js"
};
static const unsigned char file_24[] = {
#embed "files/data/editors/json.js"
};
static const unsigned char file_25[] = {
#embed "files/data/editors/pointer.js"
};
static const unsigned char file_26[] = {
#embed "files/data/editors/polygon.js"
};
static const unsigned char file_27[] = {
#embed "files/data/editors/relation.js"
};
static const unsigned char file_28[] = {
#embed "files/data/editors/sheet.js"
};
static const unsigned char file_29[] = {
#embed "files/data/editors/text.js"
};
static const unsigned char file_30[] = {
#embed "files/data/editors/tree.js"
};
static const unsigned char file_31[] = {
#embed "files/data/editors/value-input.js"
};
static const unsigned char file_32[] = {
#embed "files/data/field-list.js"
};
static const unsigned char file_33[] = {
#embed "files/data/filter/bar.js"
};
static const unsigned char file_34[] = {
#embed "files/data/filter/chips.js"
};
static const unsigned char file_35[] = {
#embed "files/data/filter/editor.js"
};
static const unsigned char file_36[] = {
#embed "files/data/filter/json.js"
};
static const unsigned char file_37[] = {
#embed "files/data/filter/model.js"
};
static const unsigned char file_38[] = {
#embed "files/data/filter/quick.js"
};
static const unsigned char file_39[] = {
#embed "files/data/filter/save-view.js"
};
static const unsigned char file_40[] = {
#embed "files/data/filter/sentence.js"
};
static const unsigned char file_41[] = {
#embed "files/data/filter/value.js"
};
static const unsigned char file_42[] = {
#embed "files/data/filter/words.js"
};
static const unsigned char file_43[] = {
#embed "files/data/grid-card.js"
};
static const unsigned char file_44[] = {
#embed "files/data/grid-geometry.js"
};
static const unsigned char file_45[] = {
#embed "files/data/grid-head.js"
};
static const unsigned char file_46[] = {
#embed "files/data/grid-keys.js"
};
static const unsigned char file_47[] = {
#embed "files/data/grid.js"
};
static const unsigned char file_48[] = {
#embed "files/data/history.js"
};
static const unsigned char file_49[] = {
#embed "files/data/names.js"
};
static const unsigned char file_50[] = {
#embed "files/data/new-object.js"
};
static const unsigned char file_51[] = {
#embed "files/data/rows.js"
};
static const unsigned char file_52[] = {
#embed "files/data/save.js"
};
static const unsigned char file_53[] = {
#embed "files/data/schema.js"
};
static const unsigned char file_54[] = {
#embed "files/data/types.js"
};
static const unsigned char file_55[] = {
#embed "files/data/typing.js"
};
static const unsigned char file_56[] = {
#embed "files/data/values.js"
};
static const unsigned char file_57[] = {
#embed "files/data/views.js"
};
static const unsigned char file_58[] = {
#embed "files/data/words.js"
};
static const unsigned char file_59[] = {
#embed "files/index.html"
};
static const unsigned char file_60[] = {
#embed "files/main.js"
};
static const unsigned char file_61[] = {
#embed "files/pages/data/class-actions.js"
};
static const unsigned char file_62[] = {
#embed "files/pages/data/class-foot.js"
};
static const unsigned char file_63[] = {
#embed "files/pages/data/class-list.js"
};
static const unsigned char file_64[] = {
#embed "files/pages/data/class-menu.js"
};
static const unsigned char file_65[] = {
#embed "files/pages/data/class-view.js"
};
static const unsigned char file_66[] = {
#embed "files/pages/data/columns-menu.js"
};
static const unsigned char file_67[] = {
#embed "files/pages/data/index.js"
};
static const unsigned char file_68[] = {
#embed "files/pages/data/inspector.js"
};
static const unsigned char file_69[] = {
#embed "files/pages/data/new-class.js"
};
static const unsigned char file_70[] = {
#embed "files/pages/data/new-field.js"
};
static const unsigned char file_71[] = {
#embed "files/pages/data/newer.js"
};
static const unsigned char file_72[] = {
#embed "files/pages/data/object-history.js"
};
static const unsigned char file_73[] = {
#embed "files/pages/data/object-view.js"
};
static const unsigned char file_74[] = {
#embed "files/pages/keys-list.js"
};
static const unsigned char file_75[] = {
#embed "files/pages/palette.js"
};
static const unsigned char file_76[] = {
#embed "files/pages/shell.js"
};
static const unsigned char file_77[] = {
#embed "files/pages/sign-in.js"
};
static const unsigned char file_78[] = {
#embed "files/pages/trash/index.js"
};
static const unsigned char file_79[] = {
#embed "files/parts/dialog.js"
};
static const unsigned char file_80[] = {
#embed "files/parts/menu.js"
};
static const unsigned char file_81[] = {
#embed "files/parts/states.js"
};
static const unsigned char file_82[] = {
#embed "files/parts/toast.js"
};
static const unsigned char file_83[] = {
#embed "files/style/base.css"
};
static const unsigned char file_84[] = {
#embed "files/style/data.css"
};
static const unsigned char file_85[] = {
#embed "files/style/icon.svg"
};
static const unsigned char file_86[] = {
#embed "files/style/parts.css"
};
static const unsigned char file_87[] = {
#embed "files/style/tokens.css"
};

static const struct file all[] = {
    {"core/api.js", file_0, sizeof file_0},
    {"core/dom.js", file_1, sizeof file_1},
    {"core/format.js", file_2, sizeof file_2},
    {"core/icons.js", file_3, sizeof file_3},
    {"core/keys.js", file_4, sizeof file_4},
    {"core/router.js", file_5, sizeof file_5},
    {"core/session.js", file_6, sizeof file_6},
    {"core/signal.js", file_7, sizeof file_7},
    {"core/text.js", file_8, sizeof file_8},
    {"core/theme.js", file_9, sizeof file_9},
    {"core/words.js", file_10, sizeof file_10},
    {"data/acl/summary.js", file_11, sizeof file_11},
    {"data/batches.js", file_12, sizeof file_12},
    {"data/bulk.js", file_13, sizeof file_13},
    {"data/cells.js", file_14, sizeof file_14},
    {"data/clipboard.js", file_15, sizeof file_15},
    {"data/columns.js", file_16, sizeof file_16},
    {"data/conflict.js", file_17, sizeof file_17},
    {"data/delete.js", file_18, sizeof file_18},
    {"data/editing.js", file_19, sizeof file_19},
    {"data/editors/access.js", file_20, sizeof file_20},
    {"data/editors/bytes.js", file_21, sizeof file_21},
    {"data/editors/file.js", file_22, sizeof file_22},
    {"data/editors/inline.js", file_23, sizeof file_23},
    {"data/editors/json.js", file_24, sizeof file_24},
    {"data/editors/pointer.js", file_25, sizeof file_25},
    {"data/editors/polygon.js", file_26, sizeof file_26},
    {"data/editors/relation.js", file_27, sizeof file_27},
    {"data/editors/sheet.js", file_28, sizeof file_28},
    {"data/editors/text.js", file_29, sizeof file_29},
    {"data/editors/tree.js", file_30, sizeof file_30},
    {"data/editors/value-input.js", file_31, sizeof file_31},
    {"data/field-list.js", file_32, sizeof file_32},
    {"data/filter/bar.js", file_33, sizeof file_33},
    {"data/filter/chips.js", file_34, sizeof file_34},
    {"data/filter/editor.js", file_35, sizeof file_35},
    {"data/filter/json.js", file_36, sizeof file_36},
    {"data/filter/model.js", file_37, sizeof file_37},
    {"data/filter/quick.js", file_38, sizeof file_38},
    {"data/filter/save-view.js", file_39, sizeof file_39},
    {"data/filter/sentence.js", file_40, sizeof file_40},
    {"data/filter/value.js", file_41, sizeof file_41},
    {"data/filter/words.js", file_42, sizeof file_42},
    {"data/grid-card.js", file_43, sizeof file_43},
    {"data/grid-geometry.js", file_44, sizeof file_44},
    {"data/grid-head.js", file_45, sizeof file_45},
    {"data/grid-keys.js", file_46, sizeof file_46},
    {"data/grid.js", file_47, sizeof file_47},
    {"data/history.js", file_48, sizeof file_48},
    {"data/names.js", file_49, sizeof file_49},
    {"data/new-object.js", file_50, sizeof file_50},
    {"data/rows.js", file_51, sizeof file_51},
    {"data/save.js", file_52, sizeof file_52},
    {"data/schema.js", file_53, sizeof file_53},
    {"data/types.js", file_54, sizeof file_54},
    {"data/typing.js", file_55, sizeof file_55},
    {"data/values.js", file_56, sizeof file_56},
    {"data/views.js", file_57, sizeof file_57},
    {"data/words.js", file_58, sizeof file_58},
    {"index.html", file_59, sizeof file_59},
    {"main.js", file_60, sizeof file_60},
    {"pages/data/class-actions.js", file_61, sizeof file_61},
    {"pages/data/class-foot.js", file_62, sizeof file_62},
    {"pages/data/class-list.js", file_63, sizeof file_63},
    {"pages/data/class-menu.js", file_64, sizeof file_64},
    {"pages/data/class-view.js", file_65, sizeof file_65},
    {"pages/data/columns-menu.js", file_66, sizeof file_66},
    {"pages/data/index.js", file_67, sizeof file_67},
    {"pages/data/inspector.js", file_68, sizeof file_68},
    {"pages/data/new-class.js", file_69, sizeof file_69},
    {"pages/data/new-field.js", file_70, sizeof file_70},
    {"pages/data/newer.js", file_71, sizeof file_71},
    {"pages/data/object-history.js", file_72, sizeof file_72},
    {"pages/data/object-view.js", file_73, sizeof file_73},
    {"pages/keys-list.js", file_74, sizeof file_74},
    {"pages/palette.js", file_75, sizeof file_75},
    {"pages/shell.js", file_76, sizeof file_76},
    {"pages/sign-in.js", file_77, sizeof file_77},
    {"pages/trash/index.js", file_78, sizeof file_78},
    {"parts/dialog.js", file_79, sizeof file_79},
    {"parts/menu.js", file_80, sizeof file_80},
    {"parts/states.js", file_81, sizeof file_81},
    {"parts/toast.js", file_82, sizeof file_82},
    {"style/base.css", file_83, sizeof file_83},
    {"style/data.css", file_84, sizeof file_84},
    {"style/icon.svg", file_85, sizeof file_85},
    {"style/parts.css", file_86, sizeof file_86},
    {"style/tokens.css", file_87, sizeof file_87},
};

int console_file_count(void) { return sizeof all / sizeof all[0]; }
const char *console_file_name(int number) { return all[number].name; }
const unsigned char *console_file_bytes(int number) { return all[number].bytes; }
size_t console_file_size(int number) { return all[number].size; }
