#include "options/opts_help.h"

#include <stdio.h>

#include "options/opts_table.h"

enum { HELP_COLUMN = 33 }; /* of the help texts */

/* By its first names. The manual has the others, which are those of flock(1).
 */
static void
print_option(const struct opts_row *row)
{
	bool is_option = *row->longs[0] != '\0';
	int width = row->shorts[0] != '\0' ? printf("  -%c, ", row->shorts[0])
					   : printf("      ");

	width += printf("%s%s", is_option ? "--" : "",
	    is_option ? row->longs[0] : row->variable);
	if (*row->argument != '\0')
		width += printf(*row->implied != '\0' ? "[=%s]" : " %s",
		    row->argument);
	if (width + 2 > HELP_COLUMN) {
		putchar('\n');
		width = 0;
	}
	printf("%*s%s\n", HELP_COLUMN - width, "", row->help);
}

static int
flush_stdout(void)
{
	return ferror(stdout) || fflush(stdout) == EOF ? -1 : 0;
}

int
opts_help_print(bool all)
{
	puts("Usage: rlockrun [options] -k NAME [--] COMMAND [ARGUMENT...]\n"
	     "       rlockrun [options] -k NAME -c 'SHELL COMMAND'");
	if (all)
		puts("       rlockrun [options] --status -k NAME\n"
		     "       rlockrun [options] --list [--watch[=DUR] | --all] "
		     "[GLOB...]\n"
		     "       rlockrun [options] --history -k NAME\n"
		     "       rlockrun [options] --check [-k NAME] [GLOB...]\n"
		     "       rlockrun [options] --force-release -k NAME\n"
		     "       rlockrun [options] --hold DUR -k NAME\n"
		     "       rlockrun [options] --pause GLOB [--for DUR] "
		     "[-k NAME]\n"
		     "       rlockrun [options] --resume GLOB\n"
		     "       rlockrun [options] --doctor [-k NAME]\n"
		     "       rlockrun [options] --show-config [-k NAME]");
	puts("\nRun a command while holding a lock that all hosts share "
	     "through Redis.\n");
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		const struct opts_row *row = &opts_table[id];

		if (all && *row->section != '\0')
			printf("%s%s:\n", id > 0 ? "\n" : "", row->section);
		if (all ? *row->help != '\0' : row->common)
			print_option(row);
	}
	puts(all ? "\n"
		   "DUR is a number with a unit, ms, s (default), min, h or d, "
		   "or a sum: 1h30m.\n"
		   "--ttl can also be set as RLOCKRUN_TTL, or by 'ttl = DUR' "
		   "in a configuration\n"
		   "file, and so on: see rlockrun.conf(5)."
		 : "\n"
		   "DUR is a number with a unit, ms, s (default), min, h or d: "
		   "1h30m.\n"
		   "All options: rlockrun --help. The manual: man rlockrun.");
	return flush_stdout();
}

int
opts_help_print_dump(void)
{
	const char *section = "";

	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		const struct opts_row *row = &opts_table[id];

		if (*row->help == '\0')
			continue;
		if (*row->section != '\0')
			section = row->section;
		for (const char *name = row->shorts; *name != '\0'; name++)
			printf("%s%c", name > row->shorts ? "," : "", *name);
		putchar('\t');
		for (size_t i = 0; i < OPTS_LONGS_MAX && *row->longs[i]; i++)
			printf("%s%s", i > 0 ? "," : "", row->longs[i]);
		printf(*row->implied != '\0' ? "\t[=%s]" : "\t%s",
		    row->argument);
		printf("\t%s\t%s\t%s\n", row->variable, section, row->help);
	}
	return flush_stdout();
}
