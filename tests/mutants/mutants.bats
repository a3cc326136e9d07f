#!/usr/bin/env bats
# Where the source is broken, and where not. That broken programs are noticed is
# checked by each `make mutants` with its probes.
# bats file_tags=night

bats_require_minimum_version 1.5.0

# changes FILE: each line that a mutant of the file has instead of another one.
changes() {
	PYTHONPATH=$BATS_TEST_DIRNAME /usr/bin/python3 -SB -c 'import sys
from sites import mutants_of
for mutant in mutants_of(".", sys.argv[1]):
    print(mutant.after)' "$1"
}

setup() { cd "$BATS_TEST_TMPDIR" || return; }

@test "C: operators, constants and calls are changed; texts and directives are not" {
	cat >code.c <<-'END'
		/* if (a < b) */
		#define LIMIT(a) ((a) < 1)
		int call(int a);
		int f(struct s *s, char *text)
		{
			char line[64];
			if (!s->a && s->b <= -1) // 1
				s->call(1 + 2,
				    "1 < 2");
			return true;
		}
	END
	run -0 changes code.c
	diff - <(printf '%s\n' "$output") <<-'END'
		if (s->a && s->b <= -1) // 1
		if (!s->a || s->b <= -1) // 1
		if (!s->a && s->b < -1) // 1
		if (!s->a && s->b <= -0) // 1
		;
		s->call(0 + 2,
		s->call(1 - 2,
		s->call(1 + 3,
		return false;
	END
}

@test "Lua: operators, constants and calls are changed; texts and comments are not" {
	cat >code.lua <<-'END'
		-- if a == 1 then
		local a = not b and 'a == 1' or 10
		if a ~= 0 then call(a) end
		redis.call('DEL',
		  key)
		a = string.sub(b, 1, 1) .. c(b, 1)
		return a == true
	END
	run -0 changes code.lua
	diff - <(printf '%s\n' "$output") <<-'END'
		local a = b and 'a == 1' or 10
		local a = not b or 'a == 1' or 10
		local a = not b and 'a == 1' and 10
		local a = not b and 'a == 1' or 20
		if a == 0 then call(a) end
		if a ~= 1 then call(a) end
		if a ~= 0 then end

		a = string.sub(b, 1, 0) .. c(b, 1)
		a = string.sub(b, 1, 1) .. c(b, 0)
		return a ~= true
		return a == false
	END
}

@test "wrong variables: 64, and what is wrong" {
	for wrong in COUNT=x SEED=1\ WORKERS=0 ONLY=src/admin/list.c; do
		# shellcheck disable=SC2086 # several variables
		run -64 env $wrong "$BATS_TEST_DIRNAME/run"
		[[ ${lines[-1]} == "mutants: ${wrong##* }: "* ]]
	done
}
