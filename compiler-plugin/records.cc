/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two passes around GCC's last one. The first puts labels round the covered code: from a function's first insn to its
 * last, apart in the hot and the cold section, without the calls that do not find the word at [SP]. The second, when
 * GCC has chosen the sections and written the function, notes for each pair of labels which section they are in.
 * At the end of the translation unit all is written, one note for each text section.
 *
 * Details of the output are for the linkers. A note is linked to its text section by SHF_LINK_ORDER, so that
 * --gc-sections keeps or drops them together; gold, which does not know that flag there, needs a relocation of the text
 * that refers to the note and does nothing. Where the text section is in a COMDAT group the note is in it too, so that
 * it goes with its text where another file's copy of the group is taken. All labels are local: a pc-relative reference
 * to a global function is refused in a shared library.
 */
#include "coverage.h"
#include "records.h"
#include "word-calls.h"
#include "word/record.h"

namespace spwalk
{

/* Code whose calls find the word at [SP], between two labels of one section. */
struct covered_range {
    int start, end;     /* .Lstart and .Lend; the same: nothing is covered there */
    bool second_part;   /* of a function in two sections, whether it lies in the one that comes second */
    uint32_t word;      /* of its function */
    section *text;      /* known when the function has been written */
    const char *comdat; /* the group that section is in, or null */

    bool is_break() const
    {
        return start == end;
    }
};

/* Of the current function, between the two passes. */
static auto_vec<covered_range> function_ranges;
/* Of the translation unit. */
static auto_vec<covered_range> unit_ranges;

/* The next insn that may become an instruction, or null where the function's part ends before it. */
static rtx_insn *next_instruction(rtx_insn *insn)
{
    do
        insn = NEXT_INSN(insn);
    while (insn != nullptr && !NONDEBUG_INSN_P(insn) && !JUMP_TABLE_DATA_P(insn) &&
           !(NOTE_P(insn) && NOTE_KIND(insn) == NOTE_INSN_SWITCH_TEXT_SECTIONS));
    return insn == nullptr || !NONDEBUG_INSN_P(insn) ? nullptr : insn;
}

/* Cuts the function's insns into covered ranges. */
class range_cutter
{
  public:
    explicit range_cutter(function_plan &plan) : plan(plan)
    {
    }
    void cut();
    void leave_out();

  private:
    void open(int label)
    {
        start = label;
    }
    void close(int label)
    {
        add(start, label);
    }
    /* A break: between the range before and the one to come there are calls that the word is not for. */
    void add_break(int label)
    {
        add(label, label);
    }
    void add(int start, int end)
    {
        function_ranges.safe_push({start, end, second_part, plan.word, nullptr, nullptr});
    }
    rtx_insn *last_left_out(rtx_insn *call);

    function_plan &plan;
    int start = 0;
    bool second_part = false;
};

/*
 * The last insn to be left out after a call without a word: the instruction that follows, so that a look-up by the
 * return address itself, rather than by an address within the call, finds the same; and through further such calls.
 */
rtx_insn *range_cutter::last_left_out(rtx_insn *call)
{
    rtx_insn *last = call;
    do {
        rtx_insn *next = next_instruction(last);
        if (next == nullptr || (is_returning_call(next) && !is_call_without_word(next)))
            break;
        plan.calls += is_returning_call(next);
        last = next;
    } while (is_returning_call(last) || get_attr_length(last) == 0);
    return last;
}

void range_cutter::cut()
{
    rtx_insn *insn = get_insns();
    /* With -mfentry the profiler's call is text that GCC writes before the first insn. */
    bool calls_profiler = crtl->profile && targetm.profile_before_prologue();
    if (calls_profiler)
        insn = last_left_out(insn);
    open(emit_label_note(insn, insn == get_insns()));
    /* Assembly of the file's top level, which may call, comes before all functions unless the order is kept. */
    if (calls_profiler || symtab->first_asm_symbol() != nullptr)
        add_break(start);
    for (; insn != nullptr; insn = NEXT_INSN(insn)) {
        if (NOTE_P(insn) && NOTE_KIND(insn) == NOTE_INSN_SWITCH_TEXT_SECTIONS) {
            close(emit_label_note(insn, true));
            second_part = true;
            open(emit_label_note(insn, false));
        } else if ((is_returning_call(insn) || is_profiler_call(insn)) && is_call_without_word(insn)) {
            plan.calls += is_returning_call(insn);
            close(emit_label_note(insn, true));
            insn = last_left_out(insn);
            add_break(start);
            open(emit_label_note(insn, false));
        } else if (is_returning_call(insn)) {
            plan.calls++;
            plan.word_calls++;
        }
    }
    close(emit_label_note(get_last_insn(), false));
}

/* A function without a word: a break in each section in which it calls. */
void range_cutter::leave_out()
{
    bool has_break = false;
    for (rtx_insn *insn = get_insns(); insn != nullptr; insn = NEXT_INSN(insn)) {
        if (NOTE_P(insn) && NOTE_KIND(insn) == NOTE_INSN_SWITCH_TEXT_SECTIONS) {
            second_part = true;
            has_break = false;
        }
        if (!is_returning_call(insn) && !is_assembly(insn))
            continue;
        plan.calls += is_returning_call(insn);
        if (!has_break)
            add_break(emit_label_note(insn, true));
        has_break = true;
    }
}

static void find_sections()
{
    bool was_cold = in_cold_section_p;
    for (covered_range &range : function_ranges) {
        in_cold_section_p = first_function_block_is_cold != range.second_part;
        range.text = current_function_section();
        if ((range.text->common.flags & SECTION_LINKONCE) && DECL_COMDAT_GROUP(current_function_decl))
            range.comdat = IDENTIFIER_POINTER(DECL_COMDAT_GROUP(current_function_decl));
        unit_ranges.safe_push(range);
    }
    in_cold_section_p = was_cold;
    function_ranges.truncate(0);
}

/* Writes the note of the text section that range i is the first in. Ranges whose section is null are written. */
static void write_note(FILE *out, unsigned first)
{
    section *text = unit_ranges[first].text;
    const char *comdat = unit_ranges[first].comdat;
    auto_vec<covered_range> ranges;
    for (unsigned i = first; i < unit_ranges.length(); i++) {
        covered_range range = unit_ranges[i];
        if (range.text != text)
            continue;
        unit_ranges[i].text = nullptr;
        /* Of breaks, one between two ranges. */
        bool follows_range = !ranges.is_empty() && !ranges.last().is_break();
        if (!range.is_break() || follows_range)
            ranges.safe_push(range);
    }
    if (!ranges.is_empty() && ranges.last().is_break())
        ranges.pop();
    if (ranges.is_empty())
        return;

    if (comdat)
        fprintf(out, "\t.pushsection\t%s,\"aoG\",@note,.L%d,%s,comdat\n", SP_NOTE_SECTION, unit_ranges[first].start,
                comdat);
    else
        fprintf(out, "\t.pushsection\t%s,\"ao\",@note,.L%d\n", SP_NOTE_SECTION, unit_ranges[first].start);
    fprintf(out, "\t.balign 4\n.Lspwalk_note%u:\n\t.reloc\t.L%d, R_X86_64_NONE, .Lspwalk_note%u\n", first,
            unit_ranges[first].start, first);
    fprintf(out, "\t.long\t%u, %u, %u\n\t.asciz\t\"%s\"\n\t.balign 4\n", (unsigned)sizeof(SP_NOTE_OWNER),
            ranges.length() * (unsigned)sizeof(sp_record), SP_NOTE_FRAMES, SP_NOTE_OWNER);
    for (const covered_range &range : ranges)
        fprintf(out, "\t.long\t.L%d-., .L%d-.L%d, 0x%x\n", range.start, range.end, range.start, range.word);
    fprintf(out, "\t.popsection\n");
}

static void write_notes(void *, void *)
{
    if (asm_out_file != nullptr)
        for (unsigned i = 0; i < unit_ranges.length(); i++)
            if (unit_ranges[i].text != nullptr)
                write_note(asm_out_file, i);
    unit_ranges.truncate(0);
    report_unit();
}

namespace
{

const pass_data labels_data = {
    RTL_PASS, "spwalk_labels", OPTGROUP_NONE, TV_NONE, PROP_rtl, 0, 0, 0, 0,
};

class labels_pass : public rtl_opt_pass
{
  public:
    labels_pass() : rtl_opt_pass(labels_data, g)
    {
    }
    unsigned int execute(function *) final override
    {
        function_plan &plan = current_plan();
        function_ranges.truncate(0);
        if (plan.word != 0)
            range_cutter(plan).cut();
        else
            range_cutter(plan).leave_out();
        return 0;
    }
};

const pass_data records_data = {
    RTL_PASS, "spwalk_records", OPTGROUP_NONE, TV_NONE, PROP_rtl, 0, 0, 0, 0,
};

class records_pass : public rtl_opt_pass
{
  public:
    records_pass() : rtl_opt_pass(records_data, g)
    {
    }
    unsigned int execute(function *) final override
    {
        find_sections();
        report_function(current_plan());
        return 0;
    }
};

} // namespace

void install_records(const char *plugin_name)
{
    register_pass_info labels = {new labels_pass, "final", 1, PASS_POS_INSERT_BEFORE};
    register_callback(plugin_name, PLUGIN_PASS_MANAGER_SETUP, nullptr, &labels);
    register_pass_info records = {new records_pass, "final", 1, PASS_POS_INSERT_AFTER};
    register_callback(plugin_name, PLUGIN_PASS_MANAGER_SETUP, nullptr, &records);
    register_callback(plugin_name, PLUGIN_FINISH_UNIT, write_notes, nullptr);
}

} // namespace spwalk
