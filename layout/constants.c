/* The constants of a release, as data symbols: compiled with the emulator's own flags against its
 * headers (scripts/build-debug-otp does it), read by beamdump-layout extract --constants.
 * A constant that the release lacks is left out. layout/names.json lists them all. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "sys.h"

#include "global.h"

#include "dist.h"

#include "bif.h"
#include "big.h"
#include "code_ix.h"
#include "erl_alloc.h"
#include "erl_binary.h"
#include "erl_bits.h"
#include "erl_db.h"
#include "erl_db_util.h"
#include "erl_fun.h"
#include "erl_gc.h"
#include "erl_message.h"
#include "erl_monitor_link.h"
#include "erl_node_tables.h"
#include "erl_port.h"
#include "erl_port_task.h"
#include "erl_proc_sig_queue.h"
#include "erl_process.h"
#include "erl_term.h"
#include "erl_version.h"
#include "external.h"
#include "index.h"

#define CONSTANT(Name, Value) \
    const unsigned long beamdump_layout_constant_##Name = (unsigned long)(Value);
#define TEXT(Name, Value) const char beamdump_layout_text_##Name[] = Value;

#ifdef ERLANG_OTP_RELEASE
TEXT(otp_release, ERLANG_OTP_RELEASE)
#endif
#ifdef ERLANG_VERSION
TEXT(erts_version, ERLANG_VERSION)
#endif
#ifdef BEAMASM
TEXT(flavor, "JIT (BeamAsm)")
#else
TEXT(flavor, "interpreter")
#endif

CONSTANT(state_free, ERTS_PSFLG_FREE)
CONSTANT(state_exiting, ERTS_PSFLG_EXITING)
CONSTANT(state_active, ERTS_PSFLG_ACTIVE)
CONSTANT(state_running, ERTS_PSFLG_RUNNING)
CONSTANT(state_suspended, ERTS_PSFLG_SUSPENDED)
CONSTANT(state_gc, ERTS_PSFLG_GC)
CONSTANT(state_active_sys, ERTS_PSFLG_ACTIVE_SYS)
CONSTANT(state_running_sys, ERTS_PSFLG_RUNNING_SYS)
CONSTANT(state_off_heap_msgq, ERTS_PSFLG_OFF_HEAP_MSGQ)
CONSTANT(state_dirty_active_sys, ERTS_PSFLG_DIRTY_ACTIVE_SYS)
CONSTANT(state_dirty_running, ERTS_PSFLG_DIRTY_RUNNING)
CONSTANT(state_dirty_running_sys, ERTS_PSFLG_DIRTY_RUNNING_SYS)
CONSTANT(state_user_priority_shift, ERTS_PSFLGS_USR_PRIO_OFFSET)
CONSTANT(state_priority_mask, ERTS_PSFLGS_PRIO_MASK)

CONSTANT(flag_trap_exit, F_TRAP_EXIT)
CONSTANT(flag_hibernated, F_HIBERNATED)
CONSTANT(flag_disable_gc, F_DISABLE_GC)
CONSTANT(flag_delay_gc, F_DELAY_GC)
CONSTANT(flag_abandoned_heap_use, F_ABANDONED_HEAP_USE)
CONSTANT(trace_flag_sensitive, F_SENSITIVE)
CONSTANT(lock_main, ERTS_PROC_LOCK_MAIN)

CONSTANT(message_queue_off_heap, FS_OFF_HEAP_MSGQ)
#ifdef FS_PRIO_MQ
CONSTANT(message_queue_priority, FS_PRIO_MQ)
#endif
CONSTANT(code_indexes, ERTS_NUM_CODE_IX)
CONSTANT(index_page_shift, INDEX_PAGE_SHIFT)
CONSTANT(combined_message_marker, ERTS_MSG_COMBINED_HFRAG)
CONSTANT(psd_error_handler, ERTS_PSD_ERROR_HANDLER)
CONSTANT(psd_native_function, ERTS_PSD_NFUNC_TRAP_WRAPPER)
#ifdef ERTS_PSD_PRIO_Q_INFO
CONSTANT(psd_priority_queue, ERTS_PSD_PRIO_Q_INFO)
#endif

CONSTANT(signal_op_receive_mark, ERTS_SIG_Q_OP_RECV_MARK)
#ifdef ERTS_SIG_Q_OP_ALIAS_MSG
CONSTANT(signal_op_alias_message, ERTS_SIG_Q_OP_ALIAS_MSG)
#endif
#ifdef ERTS_SIG_Q_OP_ALTACT_MSG
CONSTANT(signal_op_altact_message, ERTS_SIG_Q_OP_ALTACT_MSG)
#endif
CONSTANT(signal_type_generic_exit, ERTS_SIG_Q_TYPE_GEN_EXIT)
CONSTANT(signal_type_off_heap, ERTS_SIG_Q_TYPE_OFF_HEAP)
CONSTANT(signal_type_heap_fragment, ERTS_SIG_Q_TYPE_HEAP_FRAG)
#ifdef ERTS_SIG_Q_TYPE_DIST_FRAG
CONSTANT(signal_type_dist_fragment, ERTS_SIG_Q_TYPE_DIST_FRAG)
#endif
CONSTANT(external_flag_atoms, ERTS_DIST_EXT_ATOM_TRANS_TAB)

CONSTANT(monitor_process, ERTS_MON_TYPE_PROC)
CONSTANT(monitor_port, ERTS_MON_TYPE_PORT)
CONSTANT(monitor_time_offset, ERTS_MON_TYPE_TIME_OFFSET)
CONSTANT(monitor_dist_process, ERTS_MON_TYPE_DIST_PROC)
#ifdef ERTS_MON_TYPE_DIST_PORT
CONSTANT(monitor_dist_port, ERTS_MON_TYPE_DIST_PORT)
#endif
CONSTANT(monitor_resource, ERTS_MON_TYPE_RESOURCE)
CONSTANT(monitor_node, ERTS_MON_TYPE_NODE)
CONSTANT(monitor_nodes, ERTS_MON_TYPE_NODES)
CONSTANT(monitor_suspend, ERTS_MON_TYPE_SUSPEND)
CONSTANT(monitor_alias, ERTS_MON_TYPE_ALIAS)
CONSTANT(link_process, ERTS_LNK_TYPE_PROC)
CONSTANT(link_port, ERTS_LNK_TYPE_PORT)
CONSTANT(link_dist_process, ERTS_LNK_TYPE_DIST_PROC)
#ifdef ERTS_LNK_TYPE_DIST_PORT
CONSTANT(link_dist_port, ERTS_LNK_TYPE_DIST_PORT)
#endif
CONSTANT(relation_flag_target, ERTS_ML_FLG_TARGET)
CONSTANT(relation_flag_in_table, ERTS_ML_FLG_IN_TABLE)
CONSTANT(relation_flag_name, ERTS_ML_FLG_NAME)
CONSTANT(relation_flag_extended, ERTS_ML_FLG_EXTENDED)
CONSTANT(relation_flag_spawn_pending, ERTS_ML_FLG_SPAWN_PENDING)
/* Where the type of a monitor or link has no field of its own but bits of its flags. */
#ifdef ERTS_ML_TYPE_MASK
CONSTANT(relation_type_mask, ERTS_ML_TYPE_MASK)
CONSTANT(relation_type_shift, ERTS_ML_TYPE_SHIFT)
#endif

/* An enumerator in later releases, which #ifdef cannot see; every release has it. */
CONSTANT(binary_flag_magic, BIN_FLAG_MAGIC)

CONSTANT(atom_tag, _TAG_IMMED2_ATOM)
CONSTANT(atom_shift, _TAG_IMMED2_SIZE)
CONSTANT(pid_tag, _TAG_IMMED1_PID)
CONSTANT(pid_shift, _PID_DATA_SHIFT)
CONSTANT(pid_number_bits, _PID_NUM_SIZE)
CONSTANT(port_tag, _TAG_IMMED1_PORT)
CONSTANT(small_tag, _TAG_IMMED1_SMALL)
CONSTANT(non_value, THE_NON_VALUE)
CONSTANT(nil, NIL)
CONSTANT(external_pid_subtag, EXTERNAL_PID_SUBTAG)
CONSTANT(external_ref_subtag, EXTERNAL_REF_SUBTAG)
CONSTANT(reference_subtag, REF_SUBTAG)
#ifdef REFC_BINARY_SUBTAG
CONSTANT(refc_binary_subtag, REFC_BINARY_SUBTAG)
#endif
#ifdef BIN_REF_SUBTAG
CONSTANT(bin_ref_subtag, BIN_REF_SUBTAG)
CONSTANT(heap_bits_subtag, HEAP_BITS_SUBTAG)
CONSTANT(sub_bits_subtag, SUB_BITS_SUBTAG)
#endif
#ifdef FUN_REF_SUBTAG
CONSTANT(fun_ref_subtag, FUN_REF_SUBTAG)
#endif
#ifdef RECORD_SUBTAG
CONSTANT(record_subtag, RECORD_SUBTAG)
#endif
CONSTANT(fun_subtag, FUN_SUBTAG)
CONSTANT(header_arity_shift, _HEADER_ARITY_OFFS)

CONSTANT(allocator_temporary, ERTS_ALC_A_TEMPORARY)
CONSTANT(allocator_long_lived, ERTS_ALC_A_LONG_LIVED)
CONSTANT(allocator_heap, ERTS_ALC_A_EHEAP)
CONSTANT(allocator_ets, ERTS_ALC_A_ETS)
CONSTANT(allocator_fixed_size, ERTS_ALC_A_FIXED_SIZE)
CONSTANT(allocator_literal, ERTS_ALC_A_LITERAL)
CONSTANT(allocator_binary, ERTS_ALC_A_BINARY)
CONSTANT(allocator_driver, ERTS_ALC_A_DRIVER)
CONSTANT(allocator_test, ERTS_ALC_A_TEST)
CONSTANT(allocator_last, ERTS_ALC_A_MAX)

/* ERTS_ALC_FIX_TYPE_IX without its assertion, which is no constant. */
#define FIX_INDEX(Type) (ERTS_ALC_T2N(Type) - ERTS_ALC_N_MIN_A_FIXED_SIZE)
CONSTANT(fix_count, ERTS_ALC_NO_FIXED_SIZES)
CONSTANT(fix_process, FIX_INDEX(ERTS_ALC_T_PROC))
CONSTANT(fix_monitor, FIX_INDEX(ERTS_ALC_T_MONITOR))
CONSTANT(fix_link, FIX_INDEX(ERTS_ALC_T_LINK))
CONSTANT(fix_message_reference, FIX_INDEX(ERTS_ALC_T_MSG_REF))
CONSTANT(fix_low_level_timer, FIX_INDEX(ERTS_ALC_T_LL_PTIMER))
CONSTANT(fix_high_level_timer, FIX_INDEX(ERTS_ALC_T_HL_PTIMER))
CONSTANT(fix_bif_timer, FIX_INDEX(ERTS_ALC_T_BIF_TIMER))

CONSTANT(ets_private, DB_PRIVATE)
CONSTANT(ets_protected, DB_PROTECTED)
CONSTANT(ets_public, DB_PUBLIC)
CONSTANT(ets_deleted, DB_DELETE)
CONSTANT(ets_set, DB_SET)
CONSTANT(ets_bag, DB_BAG)
CONSTANT(ets_duplicate_bag, DB_DUPLICATE_BAG)
CONSTANT(ets_ordered_set, DB_ORDERED_SET)
CONSTANT(ets_ca_ordered_set, DB_CA_ORDERED_SET)
CONSTANT(ets_write_concurrency, DB_FINE_LOCKED)
CONSTANT(ets_read_concurrency, DB_FREQ_READ)
CONSTANT(ets_named, DB_NAMED_TABLE)
#ifdef DB_FINE_LOCKED_AUTO
CONSTANT(ets_write_concurrency_auto, DB_FINE_LOCKED_AUTO)
#endif
CONSTANT(ets_hash_locks, DB_HASH_LOCK_CNT)

CONSTANT(port_state_connected, ERTS_PORT_SFLG_CONNECTED)
CONSTANT(port_state_exiting, ERTS_PORT_SFLG_EXITING)
CONSTANT(port_state_distribution, ERTS_PORT_SFLG_DISTRIBUTION)
CONSTANT(port_state_closing, ERTS_PORT_SFLG_CLOSING)
CONSTANT(port_task_busy, ERTS_PTS_FLG_BUSY_PORT)

CONSTANT(scheduler_sleep_sleeping, ERTS_SSI_FLG_SLEEPING)
CONSTANT(scheduler_sleep_waiting, ERTS_SSI_FLG_WAITING)
CONSTANT(scheduler_sleep_suspended, ERTS_SSI_FLG_SUSPENDED)

CONSTANT(dist_state_idle, ERTS_DE_STATE_IDLE)
CONSTANT(dist_state_pending, ERTS_DE_STATE_PENDING)
CONSTANT(dist_state_connected, ERTS_DE_STATE_CONNECTED)
CONSTANT(dist_state_exiting, ERTS_DE_STATE_EXITING)
CONSTANT(dist_queue_busy, ERTS_DE_QFLG_BUSY)
CONSTANT(dist_flag_published, DFLAG_PUBLISHED)

/* Not the runtime's: beamdump's number for the encoding of terms (TermScheme in
 * libdump/format/format.h), told by what that encoding has. */
#if defined(RECORD_SUBTAG)
CONSTANT(term_scheme, 3)
#elif defined(BIN_REF_SUBTAG)
CONSTANT(term_scheme, 2)
#elif _PID_NUM_SIZE == 28
CONSTANT(term_scheme, 6)
#elif defined(EXPORT_SUBTAG)
CONSTANT(term_scheme, 7)
#else
CONSTANT(term_scheme, 1)
#endif
